import { expect, test } from 'vitest'
import { expiryOf } from './expiry'
import { madePassword } from './password'

const now = Date.parse('2026-11-26T12:00:00Z')
const of = (expires_at: string | null, expired = false) => expiryOf({ expires_at, expired }, now)

test('the end of a token is soon within two weeks', () => {
  expect(of(null)).toBe('never')
  expect(of('2026-12-10T12:00:00Z')).toBe('later')
  expect(of('2026-12-10T11:59:59Z')).toBe('soon')
  expect(of('2026-11-26T12:00:00Z')).toBe('expired')
  expect(of('2027-11-26T12:00:00Z', true)).toBe('expired')
})

test('passwords that are made are long, differ, and have no sign that is taken for another', () => {
  const made = Array.from({ length: 50 }, madePassword)
  expect(new Set(made).size).toBe(50)
  for (const password of made) expect(password).toMatch(/^[a-zA-Z2-9]{24}$/)
  expect(made.join('')).not.toMatch(/[0O1lI]/)
})
