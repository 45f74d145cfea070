import { expect, test } from 'vitest'
import { filled, indexOf, namesIn } from './placeholders'
import { titleOf } from './sheet'

test('names are found outside of texts and comments, each once', () => {
  expect(namesIn("select {{a}}, '{{b}}', {{ c_1 }}, {{a}} -- {{d}}")).toEqual(['a', 'c_1'])
})

test('a value becomes a literal that cannot end early', () => {
  const values = new Map<string, string | null>([
    ['a', "x'; drop table t; --"],
    ['n', null],
  ])
  expect(filled('select {{a}}, {{n}}, {{absent}}', values).sql).toBe(
    "select 'x''; drop table t; --', NULL, NULL",
  )
})

test('the place of an error leads back into the text of the person', () => {
  const { sql, original } = filled('select {{a}} from bad', new Map([['a', 'a long value']]))
  expect(sql).toBe("select 'a long value' from bad")
  expect(original(sql.indexOf('bad'))).toBe('select {{a}} from '.length)
  expect(original(sql.indexOf('long'))).toBe('select '.length)
  expect(original(3)).toBe(3)
})

test('positions of PostgreSQL count characters, not halves of them', () => {
  expect(indexOf("select '💥', bad", 13)).toBe("select '💥', ".length)
  expect(indexOf('abc', 99)).toBe(3)
})

test('a tab is named by its first comment, else by its first words', () => {
  expect(titleOf('-- orders by month\nselect 1')).toBe('orders by month')
  expect(titleOf('  select\n  1')).toBe('select 1')
  expect(titleOf('/* a */ select 1')).toBe('a')
  expect(titleOf('')).toBe('untitled')
  expect(titleOf(`select ${'x'.repeat(99)}`).length).toBeLessThan(30)
})
