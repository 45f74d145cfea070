import { expect, test } from 'vitest'
import { moved } from './roving'

test('arrows of the axis move and wrap around, Home and End go to the ends', () => {
  expect(moved('ArrowRight', 'horizontal', 2, 3)).toBe(0)
  expect(moved('ArrowLeft', 'horizontal', 0, 3)).toBe(2)
  expect(moved('ArrowDown', 'horizontal', 0, 3)).toBeNull()
  expect(moved('ArrowDown', 'vertical', 0, 3)).toBe(1)
  expect(moved('End', 'both', 0, 3)).toBe(2)
  expect(moved('Home', 'both', 2, 3)).toBe(0)
  expect(moved('Home', 'both', 0, 0)).toBeNull()
})

test('in scripts from right to left the arrows turn', () => {
  expect(moved('ArrowRight', 'horizontal', 1, 3, true)).toBe(0)
  expect(moved('ArrowDown', 'vertical', 1, 3, true)).toBe(2)
})
