import { useState } from 'preact/hooks'
import type { Catalogue } from '../api/schema'
import type { Explained, PlanNode } from '../api/explain'
import type { Preview } from '../api/preview'
import { Button } from '../parts/button'
import { ChangedRows } from '../parts/changed-rows/changed-rows'
import { ConfirmChange } from '../parts/changed-rows/confirm-change'
import { Chart } from '../parts/chart/chart'
import Diagram from '../parts/diagram/diagram'
import { Editor } from '../parts/editor/editor'
import { Grid } from '../parts/grid/grid'
import { Rows } from '../parts/grid/rows'
import { Plan } from '../parts/plan/plan'
import { Tree } from '../parts/tree/tree'

/** Rows of the grid that is measured. */
const MANY = 100_000

const TYPES = 'int8 text numeric timestamptz jsonb bool text float8 int4 text text date'.split(' ')

function manyRows(): Rows {
  const columns = TYPES.map((type, place) => ({ name: `${type}_${place}`, type }))
  const rows = Array.from({ length: MANY }, (_, row) => [
    row + 1,
    `Customer ${row}`,
    (row * 1.37).toFixed(2),
    '2026-01-01 08:00:00+00',
    `{"row": ${row}, "list": [1, 2, 3]}`,
    row % 2 === 0,
    row % 7 === 0 ? null : `left at the door ${row}`,
    row / 3,
    row % 100,
    row % 11 === 0 ? 'turned \u202e around' : 'garden',
    'x'.repeat(row % 50),
    '2026-02-03',
  ])
  return new Rows(columns, rows)
}

const many = manyRows()

const months = new Rows(
  [
    { name: 'month', type: 'date' },
    { name: 'revenue', type: 'numeric' },
    { name: 'cost', type: 'numeric' },
  ],
  Array.from({ length: 24 }, (_, month) => [
    `${2025 + Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}-01`,
    String(4800 + month * 120 + 900 * Math.sin(month / 2)),
    String(3000 + month * 60),
  ]),
)

const categories = new Rows(
  [
    { name: 'category', type: 'text' },
    { name: 'revenue', type: 'numeric' },
    { name: 'returns', type: 'numeric' },
  ],
  [
    ['Garden', '48210', '1200'],
    ['Kitchen', '39120.5', '900'],
    ['A category with a name that is too long for its place', '12000.25', '-300'],
  ],
)

const catalogue: Catalogue = { database: 'shop', loaded_at: '', cut: false, denied: [], schemas: [] }

const step = (parent: number | null, label: string, own: number, more: Partial<PlanNode> = {}): PlanNode => ({
  parent,
  label,
  rows_planned: 100,
  rows: 120,
  loops: 1,
  ms: own,
  own_ms: own,
  hit: 12,
  read: 0,
  batches: null,
  sorted_on_disk: false,
  findings: [],
  ...more,
})

const explained: Explained = {
  database: 'shop',
  plan: 'Sort  (cost=1.00..2.00 rows=100 width=40)\n  ->  Hash Join\n        ->  Seq Scan on orders',
  issues: ['Sequential scan, every row is read: orders'],
  recommendations: ['If the query wants few of the rows, consider an index.'],
  nodes: [
    step(null, 'Sort', 12, { sorted_on_disk: true, ms: 560 }),
    step(0, 'Hash Join', 140, { batches: 8, rows_planned: 2 }),
    step(1, 'Seq Scan on orders', 402, { read: 9000, findings: [0] }),
    step(1, 'Index Scan using customers_pkey on customers', 6, { loops: 0, rows: 0 }),
  ],
}

const preview: Preview = {
  rows: 4,
  tables: [
    { table: 'public.orders', inserted: 0, updated: 0, deleted: 1, key: ['id'], changes: [{ op: 'delete', key: ['7'], before: { id: '7', customer: '3', status: 'open', note: 'Leave it at the \u202edoor, please, if there is no answer' } }], more: 0 },
    {
      table: 'public.line',
      inserted: 1,
      updated: 2,
      deleted: 0,
      key: ['id'],
      masked: ['card'],
      changes: [
        { op: 'update', key: ['12'], before: { ord: '7' }, after: { ord: null } },
        { op: 'update', key: ['13'], before: { ord: '7', card: '***' }, after: { ord: null, card: '***' } },
        { op: 'insert', key: ['14'], after: { id: '14', ord: '8', card: '***' } },
      ],
      more: 1204,
    },
  ],
  notes: ['Numbers of public.line_id_seq stay drawn.', 'audit.log: 1 row added, which you may not read.'],
  digest: 'k3f9a2c07b1e',
}

const boxes = ['orders', 'customers', 'order_items', 'products'].map((key) => ({
  key,
  title: key,
  lines: ['id', `${key}_key`],
}))
const edges = [
  ['orders', 'customers'],
  ['order_items', 'orders'],
  ['order_items', 'products'],
  ['products', 'products'],
].map(([from = '', to = '']) => ({ from, to, label: '' }))

/** The parts of the screens SQL and Schema, with data of their own. */
export function WorkingParts() {
  const [asks, setAsks] = useState(false)
  const [chosen, setChosen] = useState<string | null>('orders')
  return (
    <>
      <section>
        <h2>Editor</h2>
        <div class="gallery-editor">
          <Editor
            text={() => `select date_trunc('month', created_at), sum(total)\nfrom orders -- of the shop\nwhere id > {{id}};\n\nselect 2`}
            catalogue={() => catalogue}
            onChange={() => {}}
            onRun={() => {}}
            onReady={(handle) => handle.markFailure(65)}
          />
        </div>
      </section>
      <section>
        <h2>Grid</h2>
        <div class="gallery-grid" id="many-rows">
          <Grid rows={many} label="A hundred thousand rows" />
        </div>
      </section>
      <section>
        <h2>Changed rows</h2>
        <ChangedRows preview={preview} />
        <Button onClick={() => setAsks(true)}>Ask before a change</Button>
        {asks && (
          <ConfirmChange title="" text="DELETE FROM orders WHERE id = 7" run="" seen={{ preview, reason: null, changed: true }} onDecide={() => setAsks(false)}>
            {null}
          </ConfirmChange>
        )}
      </section>
      <section>
        <h2>Chart</h2>
        <Chart rows={months} />
        <Chart rows={categories} />
      </section>
      <section>
        <h2>Plan</h2>
        <Plan explained={explained} />
      </section>
      <section>
        <h2>Diagram and tree</h2>
        <div class="gallery-pair">
          <div class="gallery-tree">
            <Tree
              label="Boxes"
              lines={boxes.map(({ key }) => ({ key, level: 1, text: key, content: key }))}
              selected={chosen}
              onChoose={setChosen}
              onToggle={() => {}}
            />
          </div>
          <Diagram boxes={boxes} edges={edges} current={chosen} label="Boxes" onChoose={setChosen} />
        </div>
      </section>
    </>
  )
}
