import { expect, test } from 'vitest'
import { clientConfiguration, CLIENTS } from './clients'
import texts from './clients.json'

test('the program prints the same texts for clients', () => {
  for (const client of CLIENTS) {
    expect(clientConfiguration(client, 'https://tools.example', '<token>')).toBe(texts[client])
  }
})
