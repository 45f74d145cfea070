import { expect, test } from 'vitest'
import { marked } from './marks'

const marks = (passage: string, question: string) => marked(passage, question).filter(({ mark }) => mark).map(({ text }) => text)

test('words of the question are marked, whatever their case and their ends', () => {
  expect(marks('Copper tape keeps Slugs away; a slug turns.', 'keeping slugs away?')).toEqual(['keeps', 'Slugs', 'away', 'slug'])
})

test('short words and parts of words are not marked', () => {
  expect(marks('It is a sluggish one', 'is it a slug')).toEqual([])
})

test('the pieces together are the passage', () => {
  const passage = 'größe, Größen & <b>size</b>'
  expect(marked(passage, 'Größe size').map(({ text }) => text).join('')).toBe(passage)
})
