import { expect, test } from 'vitest'
import { GridModel } from './model'
import { arrange, Rows } from './rows'
import { sumOf } from './sum'

const columns = [
  { name: 'n', type: 'numeric' },
  { name: 't', type: 'text' },
]
const sorted = (rows: Rows, column: number, descending: boolean) =>
  [...(arrange(rows, { column, descending }, null) ?? [])].map((row) => rows.all[row]?.[column])

test('numbers sort by value also when they arrive as texts, and NULL as in PostgreSQL', () => {
  const rows = new Rows(columns, [
    ['10', 'a'],
    ['9', 'b'],
    [null, 'c'],
    ['NaN', 'd'],
    [-1, 'e'],
  ])
  expect(sorted(rows, 0, false)).toEqual([-1, '9', '10', null, 'NaN'])
  expect(sorted(rows, 0, true).at(0)).toBe(null)
})

test('equal cells keep the order in which they came', () => {
  const rows = new Rows(columns, [
    [1, 'x'],
    [2, 'x'],
    [3, 'x'],
  ])
  expect([...(arrange(rows, { column: 1, descending: true }, null) ?? [])]).toEqual([0, 1, 2])
})

test('a filter looks into one column or all, and finds NULL by its word', () => {
  const rows = new Rows(columns, [
    [1, 'Garden'],
    [2, 'house'],
    [null, null],
  ])
  const passing = (text: string, column: number | null) => [...(arrange(rows, null, { text, column }) ?? [])]
  expect(passing('GARD', null)).toEqual([0])
  expect(passing('2', 1)).toEqual([])
  expect(passing('null', 0)).toEqual([2])
  expect(arrange(rows, null, { text: '', column: null })).toBe(null)
})

test('the selection is summed exactly and stays inside when rows are filtered out', () => {
  const rows = new Rows(columns, [
    ['0.1', 'a'],
    ['0.2', 'b'],
    ['x', 'c'],
  ])
  const model = new GridModel(rows, () => 10)
  model.selection.value = { anchor: { row: 0, column: 0 }, active: { row: 2, column: 1 } }
  expect(model.summary.value).toEqual({ rows: 3, columns: 2, numbers: 2, sum: '0.3' })
  model.filter.value = { text: 'a', column: 1 }
  expect(model.selection.value.active).toEqual({ row: 0, column: 1 })
  expect(model.copyText('tsv')).toBe('0.1\ta')
  model.dispose()
})

test('pinned columns come first, hidden ones are not copied, the last one stays', () => {
  const rows = new Rows(columns, [[1, 'a']])
  const model = new GridModel(rows, () => 10)
  model.togglePin(1)
  expect(model.layout.value.shown).toEqual([1, 0])
  model.hide(0)
  model.hide(1)
  expect(model.layout.value.shown).toEqual([1])
  expect(model.shown().rows).toEqual([['a']])
  model.dispose()
})

test('rows that arrive while sorted are shown after the end of the result', () => {
  const rows = new Rows(columns)
  rows.append([[2, 'b']])
  const model = new GridModel(rows, () => 10)
  model.sorting.value = { column: 0, descending: false }
  rows.append([[1, 'a']])
  expect(model.shownRows.value).toBe(1)
  rows.end()
  expect([...(model.order.value ?? [])]).toEqual([1, 0])
  model.dispose()
})

test('sums have no rounding and count only numbers', () => {
  expect(sumOf(['9007199254740993', 1, '0.25', null, 'x', true])).toEqual({
    numbers: 3,
    sum: '9007199254740994.25',
  })
  expect(sumOf([-1, '-0.5'])).toEqual({ numbers: 2, sum: '-1.5' })
  expect(sumOf([])).toEqual({ numbers: 0, sum: '0' })
})

test('the first cell is selected before rows arrive and after', () => {
  const rows = new Rows(columns)
  const model = new GridModel(rows, () => 10)
  rows.append([[1, 'a']])
  rows.end()
  expect(model.selection.value.active).toEqual({ row: 0, column: 0 })
  model.filter.value = { text: 'nothing has this', column: null }
  model.filter.value = null
  expect(model.copyText('tsv')).toBe('1')
  model.dispose()
})
