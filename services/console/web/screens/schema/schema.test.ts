import { expect, test } from 'vitest'
import type { Catalogue, Reference, SchemaColumn, SchemaTable } from '../../api/schema'
import { placed } from '../../parts/diagram/layout'
import { fitted, zoomed } from '../../parts/diagram/view'
import { definitionOf } from './definition'
import { grantsFor } from './grants'
import { around, connected, graphOf, keyOf, ofSchema } from './graph'
import { allTables, ranked } from './ranking'

const column = (name: string, more: Partial<SchemaColumn> = {}): SchemaColumn => ({
  name,
  type: 'int8',
  nullable: true,
  default: null,
  comment: null,
  key: null,
  indexed: false,
  identity: null,
  dimensions: null,
  references: null,
  ...more,
})
const ref = (table: string): Reference => ({ schema: 'public', table, column: 'id' })
const table = (name: string, columns: SchemaColumn[], more: Partial<SchemaTable> = {}): SchemaTable => ({
  name,
  kind: 'table',
  comment: null,
  rows: null,
  bytes: null,
  columns,
  indexes: [],
  ...more,
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
        table('customers', [column('id', { key: 'primary' })], { comment: 'People who order' }),
        table('order_items', [
          column('order_id', { references: ref('orders') }),
          column('absent', { references: ref('nowhere') }),
        ]),
        table('orders', [
          column('id', { key: 'primary' }),
          column('customer_id', { references: ref('customers') }),
        ]),
        table('tree', [column('parent', { references: ref('tree') })]),
      ],
    },
    {
      name: 'stock',
      tables: [table('items', [column('sku', { comment: 'Number in the order of arrival' })])],
    },
  ],
}

test('names rank before columns, and columns before comments', () => {
  const names = (words: string) => ranked(allTables(catalogue), words).map((found) => found.table.name)
  expect(names('order')).toEqual(['orders', 'order_items', 'customers', 'items'])
  expect(names('items')).toEqual(['items', 'order_items'])
  expect(names('stock.items')).toEqual(['items'])
  expect(names('order zebra')).toEqual([])
  expect(ranked(allTables(catalogue), 'customer_id')[0]).toMatchObject({ by: 'customer_id' })
})

test('the neighbourhood of a table grows with its depth and stops at the limit', () => {
  const graph = graphOf(catalogue)
  const start = keyOf('public', 'customers')
  const names = (depth: number, limit = 150) =>
    [...around(graph, start, depth, limit).graph.tables.values()].map((found) => found.table.name)
  expect(names(1)).toEqual(['customers', 'orders'])
  expect(names(2)).toEqual(['customers', 'order_items', 'orders'])
  expect(around(graph, start, 3, 2)).toMatchObject({ cut: true })
  expect(names(3, 2)).toEqual(['customers', 'orders'])
})

test('a schema is shown with the tables of others that its keys connect it to', () => {
  const stock = [{ name: 'sales', tables: [table('bills', [column('order', { references: ref('orders') })]), table('notes', [])] }]
  const graph = graphOf({ ...catalogue, schemas: [...catalogue.schemas, ...stock] })
  const names = (schema: string | null) => [...ofSchema(graph, schema).tables.values()].map((found) => found.table.name)
  expect(names('sales')).toEqual(['orders', 'bills', 'notes'])
  expect(names('stock')).toEqual(['items'])
  expect(names('public')).toEqual(['customers', 'order_items', 'orders', 'tree', 'bills'])
  expect(names(null)).toHaveLength(7)
  expect([...connected(ofSchema(graph, 'sales'))]).toEqual([keyOf('sales', 'bills'), keyOf('public', 'orders')])
})

test('a view is written with its query', () => {
  expect(definitionOf('public', table('few', [column('id')], { kind: 'view' }), ' SELECT 1;')).toBe('CREATE VIEW few AS\nSELECT 1;')
})

test('references to tables that are not listed are left out', () => {
  expect(graphOf(catalogue).relations.map(({ column: name }) => name)).toEqual([
    'order_id',
    'customer_id',
    'parent',
  ])
})

test('a table is written as statements with quoted names', () => {
  const made = table(
    'Order',
    [
      column('id', { key: 'primary', nullable: false, identity: 'always' }),
      column('who', { references: ref('customers'), comment: "it's" }),
    ],
    {
      indexes: [
        {
          name: 'Order_pkey',
          columns: ['id'],
          unique: true,
          method: 'btree',
          definition: 'CREATE UNIQUE INDEX',
        },
      ],
    },
  )
  expect(definitionOf('public', made)).toBe(
    'CREATE TABLE "Order" (\n  id int8 GENERATED ALWAYS AS IDENTITY NOT NULL,\n  who int8,\n  PRIMARY KEY (id),\n' +
      "  FOREIGN KEY (who) REFERENCES customers (id)\n);\n\nCOMMENT ON COLUMN \"Order\".who IS 'it''s';",
  )
})

test('the statement for an empty database names role and schemas', () => {
  expect(grantsFor('Reader', ['sales'])).toBe(
    'GRANT USAGE ON SCHEMA sales TO "Reader";\nGRANT SELECT ON ALL TABLES IN SCHEMA sales TO "Reader";',
  )
})

test('boxes are placed from left to right without overlapping', () => {
  const boxes = ['a', 'b', 'c', 'd'].map((key) => ({ key, title: key, lines: ['id'] }))
  const edges = [
    ['a', 'b'],
    ['a', 'c'],
    ['b', 'd'],
    ['d', 'd'],
  ].map(([from = '', to = '']) => ({ from, to, label: '' }))
  const drawing = placed(boxes, edges)
  const [a, b, c] = drawing.boxes
  expect(a && b && a.x + a.width < b.x).toBe(true)
  expect(b && c && (b.y + b.height <= c.y || c.y + c.height <= b.y)).toBe(true)
  expect(drawing.edges.every(({ points }) => points.length >= 2)).toBe(true)
})

test('magnifying keeps the point under the pointer', () => {
  const at = { x: 100, y: 50 }
  const before = { x: 10, y: 20, scale: 1 }
  const after = zoomed(before, 2, at)
  expect((at.x - after.x) / after.scale).toBeCloseTo(at.x - before.x)
  expect(fitted({ width: 2000, height: 100 }, { width: 1000, height: 500 }).scale).toBe(0.5)
  expect(fitted({ width: 20, height: 10 }, { width: 1000, height: 500 }).scale).toBe(1.4)
})
