import { describe, expect, test } from 'vitest'
import { tools } from '../../text/tools'
import { collect, controlFor, draftOf, type Schema } from './schema'

const texts = tools.wrong

const query: Schema = {
  type: 'object',
  properties: {
    query: { type: 'string' },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
    ratio: { type: ['number', 'null'] },
    format: { enum: ['tsv', 'json'] },
    verbose: { type: 'boolean' },
    columns: { type: 'array', items: { type: 'string' } },
    weights: { type: 'object', properties: { words: { type: 'number' }, meaning: { type: 'number' } } },
    filter: { anyOf: [{ type: 'string' }, { type: 'object' }] },
  },
  required: ['query'],
}

describe('controls', () => {
  test('each type has the control that fits it, and JSON is the last resort', () => {
    const found = Object.entries(query.properties ?? {}).map(([name, schema]) => [name, controlFor(schema)])
    expect(Object.fromEntries(found)).toEqual({
      query: 'text',
      limit: 'integer',
      ratio: 'number',
      format: 'choice',
      verbose: 'boolean',
      columns: 'list',
      weights: 'object',
      filter: 'json',
    })
  })

  test('objects beyond the depth of a form are JSON', () => {
    const nested: Schema = { type: 'object', properties: { a: { type: 'string' } } }
    expect(controlFor(nested, 2)).toBe('object')
    expect(controlFor(nested, 3)).toBe('json')
  })
})

describe('collecting', () => {
  test('defaults fill the form, and neither they nor empty optional fields are sent', () => {
    const draft = draftOf(query, undefined) as Record<string, unknown>
    expect(draft.limit).toBe('10')
    const { value, errors } = collect(query, { ...draft, query: 'select 1' } as never, texts)
    expect(errors).toEqual({})
    expect(value).toEqual({ query: 'select 1' })
    expect(collect(query, { ...draft, query: 'select 1', limit: '20' } as never, texts).value).toEqual({ query: 'select 1', limit: 20 })
  })

  test('a missing required value is an error at its field', () => {
    expect(collect(query, draftOf(query, undefined), texts).errors).toEqual({ query: texts.required })
  })

  test('values are checked before they are sent', () => {
    const wrong = { query: 'x', limit: '1.5', ratio: 'a', filter: '{' }
    expect(collect(query, wrong, texts).errors).toEqual({ limit: texts.integer, ratio: texts.number, filter: texts.json })
    expect(collect(query, { query: 'x', limit: '101' }, texts).errors).toEqual({ limit: texts.most(100) })
  })

  test('a value survives the way through the form', () => {
    const value = { query: 'select 1', limit: 5, ratio: 0.5, format: 'json', verbose: false, columns: ['a', 'b'], weights: { words: 1 }, filter: { a: 1 } }
    expect(collect(query, draftOf(query, value), texts)).toEqual({ value, errors: {} })
  })
})
