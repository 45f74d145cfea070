import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { headerText } from '../../api/mcp'
import { quoted, TOKEN } from '../../parts/clients'
import { type Item, variablesOf } from './catalogue'
import { pythonValue, SNIPPETS, snippet } from './snippets'

const item: Item = { kind: 'tool', name: 'query_database', title: '', description: '', schema: {}, annotations: {} }
const values = { query: `select 'it''s', "x" from t; -- $HOME \`id\``, deep: { a: [true, null, 1.5] } }

test('a shell reads a quoted word back as it was', () => {
  const word = `a'b "c" $HOME \`id\` \\ \n !`
  expect(execFileSync('sh', ['-c', `printf %s ${quoted(word)}`], { encoding: 'utf8' })).toBe(word)
})

test('snippets are complete but for the token, which none of them has', () => {
  for (const kind of SNIPPETS) {
    const text = snippet(kind, 'https://tools.example.com', item, values)
    expect(text, kind).toContain('https://tools.example.com/mcp')
    expect(text, kind).toContain(TOKEN)
  }
})

test('a token that was just made stands in all snippets, in place of the words for it', () => {
  for (const kind of SNIPPETS) {
    const text = snippet(kind, 'https://tools.example.com', item, values, 'zig_new')
    expect(text, kind).toContain('Bearer zig_new')
    expect(text, kind).not.toContain(TOKEN)
  }
})

test('the command for curl sends the arguments as JSON', () => {
  const script = snippet('curl', 'http://localhost:1', item, values).replace(/^curl /, 'printf "%s\\n" ')
  const lines = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n')
  const body = JSON.parse(lines[lines.indexOf('-d') + 1] ?? '')
  expect(body.params.arguments).toEqual(values)
  expect(lines).toContain('Mcp-Name: query_database')
})

test('Python has its own words for JSON', () => {
  expect(pythonValue(values.deep)).toBe('{"a": [True, None, 1.5]}')
})

test('names that a header cannot carry are encoded', () => {
  expect(headerText('query_database')).toBe('query_database')
  expect(headerText('größe')).toBe('=?base64?Z3LDtsOfZQ==?=')
})

test('variables of an address are its arguments', () => {
  expect(variablesOf('pg://{schema}/{table}{?limit}').required).toEqual(['schema', 'table', 'limit'])
})
