import { expect, test } from 'vitest'
import { curlOf, OPERATORS, questionOf, START } from './request'

const pipeline = { name: 'docs', description: '', sources: true, hybrid: true, top_n: 10, keyless: false }
const before = [{ role: 'user' as const, content: 'And?' }]

test('a question names only what differs from the pipeline', () => {
  expect(questionOf('Why?', START, pipeline, [])).toEqual({ query: 'Why?', stream: true, stream_sources: true, citations: true })
  expect(questionOf('Why?', { ...START, results: '3', byWords: false, debug: true }, pipeline, before)).toEqual({
    query: 'Why?',
    stream: true,
    stream_sources: true,
    citations: true,
    debug: true,
    top_n: 3,
    disable_hybrid: true,
    messages: before,
  })
})

test('what a pipeline does not offer is not asked for', () => {
  const plain = { ...pipeline, sources: false, hybrid: false }
  expect(questionOf('Why?', { ...START, byWords: false, followUp: false, results: '-1' }, plain, before)).toEqual({ query: 'Why?', stream: true, stream_sources: true })
})

test('a filter has a list for IN, no value for IS NULL, and no line without a column', () => {
  const filter = [
    { column: 'tenant', operator: 'IN', value: 'a, b,,c' },
    { column: 'gone', operator: 'IS NULL', value: 'x' },
    { column: ' title ', operator: 'ILIKE', value: '%a, b%' },
    { column: '', operator: '=', value: '1' },
  ] as const
  expect(questionOf('Why?', { ...START, filter, logic: 'OR' }, pipeline, []).filter).toEqual({
    conditions: [
      { column: 'tenant', operator: 'IN', value: ['a', 'b', 'c'] },
      { column: 'gone', operator: 'IS NULL' },
      { column: 'title', operator: 'ILIKE', value: '%a, b%' },
    ],
    logic: 'OR',
  })
  expect(OPERATORS).toHaveLength(12)
})

test('the command quotes what is typed, and has no token in it', () => {
  const command = curlOf('http://localhost:8080', 'my docs', questionOf("It's $(rm) `x`?", START, pipeline, []), true)
  expect(command).toContain("curl -N 'http://localhost:8080/v1/pipelines/my%20docs' \\\n")
  expect(command).toContain('-H "Authorization: Bearer $TOKEN"')
  expect(command).toContain(String.raw`It'\''s $(rm)`)
})
