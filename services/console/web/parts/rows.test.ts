import { expect, test } from 'vitest'
import { rowsOfStructure, rowsOfText, typedRows } from './rows'

test('columns with rows are a table, and so is a list of objects', () => {
  expect(rowsOfStructure({ columns: ['a', { name: 'b' }], rows: [[1, null]] })).toEqual({ columns: ['a', 'b'], rows: [['1', 'NULL']] })
  expect(rowsOfStructure({ count: 1, tables: [{ name: 'x', rows: 2 }, { name: 'y', key: { a: 1 } }] })).toEqual({
    columns: ['name', 'rows', 'key'],
    rows: [
      ['x', '2', 'NULL'],
      ['y', 'NULL', '{"a":1}'],
    ],
  })
  expect(rowsOfStructure({ count: 1 })).toBeNull()
})

test('the lines below the heading of results are the table, also with one column', () => {
  const text = 'database: shop\n\nSQL Query:\nselect 42 as answer\n\nResults (1 row):\nanswer\n42\n\nmore'
  expect(rowsOfText(text)).toEqual({ columns: ['answer'], rows: [['42']] })
})

test('the largest block of lines with tabulators is the table of a text', () => {
  const text = 'database: shop\n\nid\tname\n1\tslug\n2\tsnail\n\nnote\tother\n'
  expect(rowsOfText(text)).toEqual({ columns: ['id', 'name'], rows: [['1', 'slug'], ['2', 'snail']] })
  expect(rowsOfText('no table\nat all')).toBeNull()
})

test('the types of a chart are those that all values of a column have', () => {
  const typed = typedRows({
    columns: ['month', 'sum', 'code', 'nothing'],
    rows: [
      ['2026-01-01 00:00:00+00', '48210.50', '007', 'NULL'],
      ['2026-02-01', '-3e2', '12', 'NULL'],
    ],
  })
  expect(typed.columns.map(({ type }) => type)).toEqual(['timestamp', 'numeric', 'text', 'text'])
  expect(typed.all[0]?.[3]).toBeNull()
})
