import { expect, test } from 'vitest'
import { distinct, isFormula, quoted, sqlLiteral, written } from './copy'

const columns = [
  { name: 'id', type: 'int8' },
  { name: 'note', type: 'text' },
  { name: 'note', type: 'text' },
]
const rows = [
  ['9007199254740993', 'a,"b"\nc', null],
  [2, '', '=1+1'],
]

test('CSV follows RFC 4180, and NULL differs from an empty text', () => {
  expect(written({ columns, rows }, 'csv')).toBe(
    'id,note,note\r\n9007199254740993,"a,""b""\nc",\r\n2,"",=1+1\r\n',
  )
})

test('formulas are guarded on demand, numbers are not taken for formulas', () => {
  expect(written({ columns, rows }, 'csv', true)).toContain(`"",'=1+1\r\n`)
  expect(['=A1', '+1+1', '@x', '-cmd', '\tx'].map(isFormula)).toEqual([true, true, true, true, true])
  expect(['\nx', ' =1', '\u00a0\ufeff@A1', '\u200b+1+1', '＝1', '－2+3', '﹫A1'].filter((text) => !isFormula(text))).toEqual([])
  expect([' -12.5 ', 'a=1', 'a\n=1'].filter(isFormula)).toEqual([])
  expect(['-1', '+2.5', '-1e9', 'a', ''].map(isFormula)).toEqual([false, false, false, false, false])
})

test('TSV has names only if asked for', () => {
  expect(written({ columns, rows }, 'tsv')).toBe('9007199254740993\t"a,""b""\nc"\t\n2\t\t=1+1')
  expect(written({ columns, rows }, 'tsv-names')).toMatch(/^id\tnote\tnote\n/)
})

test('JSON keeps both columns of one name', () => {
  expect(distinct(['a', 'a', 'a_2'])).toEqual(['a', 'a_2', 'a_2_2'])
  expect(JSON.parse(written({ columns, rows }, 'json'))).toEqual([
    { id: '9007199254740993', note: 'a,"b"\nc', note_2: null },
    { id: 2, note: '', note_2: '=1+1' },
  ])
  expect(written({ columns, rows }, 'ndjson').trim().split('\n')).toHaveLength(2)
})

test('Markdown keeps a row on its line and cells apart', () => {
  const table = { columns: [{ name: 'a|b', type: 'numeric' }], rows: [['x|y\nz'], [null]] }
  expect(written(table, 'markdown')).toBe('| a\\|b |\n| --: |\n| x\\|y z |\n| NULL |\n')
})

test('a list for IN has each value once, quoted by type, and no NULL', () => {
  const table = { columns: [{ name: 'id', type: 'int4' }], rows: [[1], [1], ['2'], [null]] }
  expect(written(table, 'in')).toBe('IN (1, 2)')
  const names = { columns: [{ name: 'n', type: 'text' }], rows: [["O'Hara"], ['1']] }
  expect(written(names, 'in')).toBe("IN ('O''Hara', '1')")
  expect(written({ columns: names.columns, rows: [] }, 'in')).toBe('IN (NULL)')
})

test('a literal cannot end early', () => {
  expect(quoted("'; drop table x; --")).toBe("'''; drop table x; --'")
  expect(quoted("\\'")).toBe("E'\\\\'''")
  expect(sqlLiteral('1; drop table x', 'int4')).toBe("'1; drop table x'")
  expect(sqlLiteral(null)).toBe('NULL')
})
