import { expect, test } from 'vitest'
import { pieces } from './foreign'

test('hidden and turning characters are shown by their numbers', () => {
  expect(pieces('a\u202Eb\u200B')).toEqual([{ text: 'a' }, { hidden: 'U+202E' }, { text: 'b' }, { hidden: 'U+200B' }])
  expect(pieces('\u{E0041}')).toEqual([{ hidden: 'U+E0041' }])
})

test('lines, tabulators, letters of all scripts and pictures stay as they are', () => {
  for (const text of ['a\tb\nc', 'größe', 'مرحبا', '日本語', '🐌', '']) expect(pieces(text).map((piece) => ('text' in piece ? piece.text : '?')).join('')).toBe(text)
})
