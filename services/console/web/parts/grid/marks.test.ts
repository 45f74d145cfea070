import { expect, test } from 'vitest'
import { decoded } from './decode'
import { ExactNumber, parsed } from './exact-json'
import { markedParts, needsMarks } from './marks'

test('hidden and bidirectional characters become marks, other scripts stay', () => {
  for (const text of ['a\u202eb', 'a\u200bb', 'a\u0000b', '\ufeffa', 'a\u{e0041}', 'a\u2066b']) {
    expect(needsMarks(text), JSON.stringify(text)).toBe(true)
    expect(markedParts(text).filter(({ mark }) => mark)).toHaveLength(1)
  }
  for (const text of ['Zürich', 'שלום', '東京', '👩🏽', 'a b']) expect(needsMarks(text), text).toBe(false)
})

test('lines and tabs are marks in a cell', () => {
  expect(markedParts('a\nb').map(({ text }) => text)).toEqual(['a', '⏎', 'b'])
})

test('values that hold another text are decoded', () => {
  expect(decoded('\\x48656c6c6f')).toEqual({ form: 'UTF-8 bytes', text: 'Hello' })
  expect(decoded('\\xff00')?.text).toContain('ff 00')
  expect(decoded(btoa('a text that is long enough'))?.text).toBe('a text that is long enough')
  expect(decoded('a%20b')?.text).toBe('a b')
  const token = `${btoa('{"alg":"none"}')}.${btoa('{"sub":"x"}')}.`.replaceAll('=', '')
  expect(decoded(token)?.text).toContain('"sub": "x"')
  for (const text of ['', 'plain', '100%', 'Administrator123']) expect(decoded(text), text).toBe(null)
})

test('numbers in JSON keep all their digits, where the engine tells them', () => {
  const digits = '12345678901234567890.10'
  const value = parsed(`{"n": ${digits}, "m": 1.5}`) as { n: unknown; m: unknown }
  expect(value.m).toBe(1.5)
  const tellsSource =
    JSON.parse('1', ((_: string, __: unknown, context?: object) => context) as never) !== undefined
  expect(value.n).toEqual(tellsSource ? new ExactNumber(digits) : Number(digits))
  expect(parsed('{')).toBe(undefined)
})
