import type { ComponentType } from 'preact'
import type { SchemaTable } from '../../api/schema'
import { query } from '../../api/query'
import { ProblemBanner } from '../../parts/banner'
import { tableName } from '../../parts/editor/identifier'
import { Empty } from '../../parts/facts'
import type { Rows } from '../../parts/grid/rows'
import { useLoaded } from '../../parts/loaded'
import { Loading } from '../../parts/loading'
import { database } from '../../shell/router'
import { schema as texts } from '../../text/schema'

const SAMPLED_ROWS = 20

type GridComponent = ComponentType<{ rows: Rows; label: string }>

interface Sampled {
  readonly rows: Rows
  readonly Grid: GridComponent
}

/** The first rows of a table. They are asked for when this view is opened. */
export function Sample({ schema, table }: { readonly schema: string; readonly table: SchemaTable }) {
  const name = tableName(schema, table.name)
  const { value, problem, again, stop } = useLoaded((signal) => sampleOf(database.peek(), name, signal), [name])
  if (problem) return <ProblemBanner problem={problem} onRetry={again} />
  if (!value) return <Loading lines={8} onStop={stop} />
  const { rows, Grid } = value
  if (rows.all.length === 0) return <Empty icon="table" title={texts.sampleEmpty} />
  return (
    <>
      <p class="muted">{texts.sampleOf(rows.all.length)}</p>
      <div class="sample-grid">
        <Grid rows={rows} label={texts.views.sample} />
      </div>
    </>
  )
}

async function sampleOf(name: string, table: string, signal: AbortSignal): Promise<Sampled> {
  const [{ Grid }, { Rows: RowsOf }] = await Promise.all([
    import('../../parts/grid/grid'),
    import('../../parts/grid/rows'),
  ])
  let rows = new RowsOf([])
  const sql = `select * from ${table} limit ${SAMPLED_ROWS}`
  for await (const line of query({ database: name, sql, max_rows: SAMPLED_ROWS }, signal)) {
    if (line.columns) rows = new RowsOf(line.columns)
    if (line.rows) rows.append(line.rows)
    if (line.error) throw new Error(line.error.message)
  }
  rows.end()
  return { rows, Grid }
}
