import { expect, test } from 'vitest'
import { elapsed, relative } from './format'

const now = Date.parse('2026-11-26T12:00:00Z')
const at = (text: string) => relative(text, now)

test('a time is said as its distance, in the nearest number of the largest unit', () => {
  expect(at('2026-11-26T12:00:30Z')).toBe('in less than a minute')
  expect(at('2026-11-26T11:59:30Z')).toBe('just now')
  expect(at('2026-11-26T09:59:00Z')).toBe('2 hours ago')
  expect(at('2026-12-08T12:00:01Z')).toBe('in 12 days')
  expect(at('2027-02-24T12:00:00Z')).toBe('in 90 days')
  expect(at('2027-02-24T11:59:59Z')).toBe('in 90 days')
  expect(at('2027-11-26T12:00:00Z')).toBe('in 12 months')
  expect(at('2029-11-26T12:00:00Z')).toBe('in 3 years')
})

test('a time that counts up keeps its places', () => {
  expect([0, 99, 12_400, 59_960, 125_000, 3_840_000, 200_000_000].map(elapsed)).toEqual(['0.0 s', '0.1 s', '12.4 s', '60.0 s', '2 min 5 s', '1 h 4 min', '2 d 7 h'])
})
