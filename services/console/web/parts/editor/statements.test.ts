import { expect, test } from 'vitest'
import { statementAt, statements } from './statements'
import { nameOf, tokens } from './tokens'

const texts = (sql: string) => statements(sql).map(({ text }) => text)

test('semicolons in texts, names, comments and bodies end nothing', () => {
  expect(texts("select ';'; select 2")).toEqual(["select ';'", 'select 2'])
  expect(texts('select ";" ; select 2;')).toEqual(['select ";"', 'select 2'])
  expect(texts('select 1 -- ;\n; /* ; /* ; */ ; */ select 2')).toHaveLength(2)
  expect(texts('select $a$ ; $b$ ; $a$; select 2')).toEqual(['select $a$ ; $b$ ; $a$', 'select 2'])
  expect(texts("select e'\\';' ; select 2")).toHaveLength(2)
  expect(texts("select '\\'; select 2")).toHaveLength(2)
  expect(
    texts(
      'create function f() returns int begin atomic select 1; select case when true then 2 end; end; select 3',
    ),
  ).toHaveLength(2)
})

test('a transaction block is several statements', () => {
  expect(texts('begin; select case when true then 1 end; end; select 3')).toHaveLength(4)
})

test('comments alone are no statement, and what is not closed goes to the end', () => {
  expect(texts('-- a\n; /* b */;;')).toEqual([])
  expect(texts("select 'a; b")).toEqual(["select 'a; b"])
  expect(texts('/* a; b')).toEqual([])
})

test('the statement at a position is the one around it, else the nearest', () => {
  const sql = 'select 1;\n\nselect 2; \n\nselect 3'
  const at = (position: number) => statementAt(sql, position)?.text
  expect(at(0)).toBe('select 1')
  expect(at(8)).toBe('select 1')
  expect(at(9)).toBe('select 1')
  expect(at(10)).toBe('select 2')
  expect(at(20)).toBe('select 2')
  expect(at(22)).toBe('select 3')
  expect(at(sql.length)).toBe('select 3')
  expect(statementAt('  ', 1)).toBe(null)
})

test('every character of a text is read once, whatever the text', () => {
  const alphabet = [
    "'",
    '"',
    '$',
    '$a$',
    '\\',
    '-',
    '--',
    '/*',
    '*/',
    ';',
    'e',
    'a',
    '1',
    '.',
    '\n',
    ' ',
    '{{x}}',
    'é',
    '€',
    '💥',
  ]
  let seed = 7
  const random = (below: number) => (seed = (seed * 16807) % 2147483647) % below
  for (let round = 0; round < 500; round += 1) {
    const sql = Array.from({ length: random(20) }, () => alphabet[random(alphabet.length)]).join('')
    let at = 0
    for (const token of tokens(sql)) {
      expect(sql.slice(at, token.from).trim(), sql).toBe('')
      expect(token.to, sql).toBeGreaterThan(token.from)
      at = token.to
    }
    expect(sql.slice(at).trim(), sql).toBe('')
  }
})

test('names are folded unless they are quoted', () => {
  expect(tokens('Orders "Order ""x"""').map(nameOf)).toEqual(['orders', 'Order "x"'])
})
