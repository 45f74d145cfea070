import { expect, test } from 'vitest'
import { addCommands, type Command, find } from './commands'

const command = (label: string): Command => ({ group: 'g', label, icon: 'info', run: () => {} })
const labels = (words: string, own: string[]) => find(words, own.map(command)).map(({ label }) => label)

test('labels that begin with the words come before those that only have them', () => {
  expect(labels('or', ['Reorder', 'Go to orders', 'orders', 'colour'])).toEqual(['orders', 'Go to orders', 'Reorder'])
})

test('words may be apart, and all have to be there', () => {
  expect(labels('dark theme', ['Theme: Dark', 'Theme: Light'])).toEqual(['Theme: Dark'])
})

test('screens add commands while they are shown', () => {
  const remove = addCommands((words) => [command(`Open ${words}`)])
  expect(labels('orders', [])).toEqual(['Open orders'])
  remove()
  expect(labels('orders', [])).toEqual([])
})
