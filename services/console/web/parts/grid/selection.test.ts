import { expect, test } from 'vitest'
import { scrolledTo, layoutOf, visibleColumns, visibleRows } from './layout'
import { at, clamped, everything, HEADER, moved, rectangle } from './selection'

const bounds = { rows: 100, columns: 5, page: 10 }
const press = (key: string, shift = false, control = false) => ({ key, shift, control })
const after = (row: number, column: number, key: string, shift = false, control = false) =>
  moved(at(row, column), press(key, shift, control), bounds)?.active

test('keys move as in every grid', () => {
  expect(after(5, 2, 'ArrowDown')).toEqual({ row: 6, column: 2 })
  expect(after(0, 2, 'ArrowUp')).toEqual({ row: HEADER, column: 2 })
  expect(after(5, 2, 'Home')).toEqual({ row: 5, column: 0 })
  expect(after(5, 2, 'End', false, true)).toEqual({ row: 99, column: 4 })
  expect(after(5, 2, 'PageDown')).toEqual({ row: 15, column: 2 })
  expect(after(3, 2, 'PageUp')).toEqual({ row: 0, column: 2 })
  expect(after(95, 2, 'PageDown')).toEqual({ row: 99, column: 2 })
  expect(after(5, 2, 'x')).toBeUndefined()
})

test('shift extends a rectangle that never takes in the names', () => {
  let selection = at(1, 1)
  for (const key of ['ArrowUp', 'ArrowUp', 'ArrowRight'])
    selection = moved(selection, press(key, true), bounds) ?? selection
  expect(rectangle(selection)).toEqual({ top: 0, bottom: 1, left: 1, right: 2 })
})

test('arrows to the sides change places when the page is mirrored', () => {
  expect(moved(at(0, 2), { ...press('ArrowLeft'), mirrored: true }, bounds)?.active.column).toBe(3)
})

test('an empty result has only names', () => {
  const none = { rows: 0, columns: 2, page: 10 }
  expect(moved(at(HEADER, 0), press('ArrowDown'), none)?.active).toEqual({ row: HEADER, column: 0 })
  expect(clamped(at(3, 3), none).active).toEqual({ row: HEADER, column: 1 })
  expect(rectangle(everything(none)).bottom).toBe(0)
})

test('only what can be seen is painted', () => {
  expect(visibleRows(2800, 280, 28, 100_000, 2)).toEqual({ from: 98, to: 112 })
  expect(visibleRows(0, 280, 28, 3, 2)).toEqual({ from: 0, to: 3 })
  const layout = layoutOf(
    200,
    { widths: Array(200).fill(100), hidden: new Set([1]), pinned: new Set([5]) },
    40,
  )
  expect(layout.shown.slice(0, 3)).toEqual([5, 0, 2])
  expect(visibleColumns(layout, 0, 540)).toEqual({ from: 1, to: 5 })
  expect(visibleColumns(layout, 1000, 540)).toEqual({ from: 11, to: 15 })
})

test('scrolling moves as little as needed', () => {
  expect(scrolledTo(100, 50, 120, 140)).toBe(100)
  expect(scrolledTo(100, 50, 80, 90)).toBe(80)
  expect(scrolledTo(100, 50, 160, 170)).toBe(120)
})
