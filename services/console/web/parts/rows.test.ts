import { expect, test } from 'vitest'
import { rowsOfStructure, rowsOfText } from './rows'

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
