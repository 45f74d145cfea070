import { expect, test } from 'vitest'
import type { Catalogue, Reference, SchemaColumn, SchemaTable } from '../../api/schema'
import { identifier } from './identifier'
import { offersAt } from './offers'

const column = (name: string, references: Reference | null = null): SchemaColumn => ({
  name,
  type: 'int8',
  nullable: true,
  default: null,
  comment: null,
  key: null,
  indexed: false,
  identity: null,
  dimensions: null,
  references,
})
const table = (name: string, ...columns: SchemaColumn[]): SchemaTable => ({
  name,
  kind: 'table',
  comment: null,
  rows: 3,
  bytes: 0,
  columns,
  indexes: [],
})
const catalogue: Catalogue = {
  database: 'shop',
  loaded_at: '',
  cut: false,
  denied: [],
  schemas: [
    {
      name: 'public',
      tables: [
        table('customers', column('id'), column('name')),
        table(
          'orders',
          column('id'),
          column('customer_id', { schema: 'public', table: 'customers', column: 'id' }),
          column('Total'),
        ),
      ],
    },
    { name: 'stock', tables: [table('items', column('sku'))] },
  ],
}
/** Offers at the sign `|`. */
const offered = (sql: string, kinds?: string[]) => {
  const found = offersAt(sql.replace('|', ''), sql.indexOf('|'), catalogue, ({ kind }) => kind)
  if (!found) return null
  const list = [...found.list].sort((a, b) => b.rank - a.rank)
  return list.filter(({ kind }) => !kinds || kinds.includes(kind)).map(({ label }) => label)
}

test('tables follow FROM, JOIN and the commas after them', () => {
  for (const sql of [
    'select * from |',
    'select * from or|',
    'select * from a join |',
    'select * from customers c, |',
  ]) {
    expect(offered(sql, ['table']), sql).toEqual(['customers', 'orders', 'stock.items'])
    expect(offered(sql, ['keyword']), sql).toEqual([])
  }
  expect(offered('select 1, |', ['column'])).toEqual([])
})

test('columns of the tables in use come before everything else, keywords last', () => {
  const list = offered('select | from orders o') ?? []
  expect(list.slice(0, 3)).toEqual(['id', 'customer_id', '"Total"'])
  expect(list.indexOf('select')).toBeGreaterThan(list.indexOf('customers'))
})

test('a name that two tables have is written with its table', () => {
  expect(offered('select | from orders o join customers c on true', ['column'])).toEqual([
    'o.id',
    'customer_id',
    '"Total"',
    'c.id',
    'name',
  ])
})

test('a dot lists the columns of an alias or table, or the tables of a schema', () => {
  expect(offered('select o.| from orders o')).toEqual(['id', 'customer_id', '"Total"'])
  expect(offered('select orders.cu| from orders')).toEqual(['id', 'customer_id', '"Total"'])
  expect(offered('select * from stock.|')).toEqual(['items'])
  expect(offered('select stock.items.| from stock.items')).toEqual(['sku'])
  expect(offered('select x.|')).toEqual([])
})

test('ON offers the condition of the foreign key, whichever table has it', () => {
  expect(offered('select * from orders o join customers c on |', ['join'])).toEqual(['o.customer_id = c.id'])
  expect(offered('select * from customers join orders on |', ['join'])).toEqual([
    'orders.customer_id = customers.id',
  ])
})

test('queries of WITH are tables', () => {
  expect(offered('with a as (select 1), b as (select 2) select * from |', ['alias'])).toEqual(['a', 'b'])
})

test('only the statement under the cursor counts', () => {
  expect(offered('select * from customers; select | from orders', ['column'])).toEqual([
    'id',
    'customer_id',
    '"Total"',
  ])
})

test('nothing is offered in texts, comments and numbers', () => {
  for (const sql of ["select 'a|'", 'select 1 -- a|', 'select $$ a| $$', 'select 12|'])
    expect(offered(sql), sql).toBe(null)
})

test('names that need quotes get them', () => {
  expect(['orders', 'Order', 'order', 'a b', 'x"y', 'größe'].map(identifier)).toEqual([
    'orders',
    '"Order"',
    '"order"',
    '"a b"',
    '"x""y"',
    '"größe"',
  ])
})
