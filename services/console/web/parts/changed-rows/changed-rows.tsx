import { Foreign } from '../foreign'
import type { Change, ChangedTable, Preview } from '../../api/preview'
import { changes as texts } from '../../text/changes'

const SIGNS = { insert: '+', update: '~', delete: '-' } as const

/** The rows that a statement would change, before and after. Each change is a sentence for those who listen. */
export function ChangedRows({ preview }: { preview: Preview }) {
  return (
    <div class="changed-rows">
      {preview.tables.map((table) => (
        <Changes key={table.table} table={table} />
      ))}
      {preview.notes.length > 0 && (
        <ul class="changed-notes">
          {preview.notes.map((note) => (
            <li key={note}>
              <Foreign text={note} />
            </li>
          ))}
        </ul>
      )}
      {preview.digest && (
        <p class="hint">
          {texts.digest} <code>{preview.digest}</code>
        </p>
      )}
    </div>
  )
}

function Changes({ table }: { table: ChangedTable }) {
  return (
    <section>
      <h3>
        <Foreign text={table.table} /> <span class="muted">{texts.counts(table)}</span>
      </h3>
      {table.masked && table.masked.length > 0 && (
        <p class="hint">
          <Foreign text={texts.masked(table.masked)} />
        </p>
      )}
      <ul class="spoken">
        {table.changes.map((change, at) => (
          <li key={at}>
            <Foreign text={texts.sentence(table, change)} />
          </li>
        ))}
      </ul>
      <div class="changed-sides">
        <Side table={table} side="before" />
        <Side table={table} side="after" />
      </div>
      {table.more > 0 && <p class="hint">{texts.more(table.more)}</p>}
    </section>
  )
}

/** Returns the columns of the key and those with a value on either side. */
function columnsOf({ key, changes }: ChangedTable): string[] {
  const named = changes.flatMap(({ before, after }) => [...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...new Set([...key, ...named])]
}

/** One grid. Rows stand in the same order on both sides; a row that is not there is an empty line. */
function Side({ table, side }: { table: ChangedTable; side: 'before' | 'after' }) {
  const columns = columnsOf(table)
  return (
    <div class="changed-side" tabIndex={0} role="group" aria-label={texts.grid(table.table, texts[side])}>
      <p class="changed-side-name">{texts[side]}</p>
      <table aria-hidden="true">
        <thead>
          <tr>
            <th>
              <span class="spoken">{texts.sign}</span>
            </th>
            {columns.map((column) => (
              <th key={column}>
                <Foreign text={column} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.changes.map((change, at) => (
            <Row key={at} columns={columns} table={table} change={change} side={side} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface RowProps {
  readonly columns: readonly string[]
  readonly table: ChangedTable
  readonly change: Change
  readonly side: 'before' | 'after'
}

function Row({ columns, table, change, side }: RowProps) {
  const values = change[side]
  if (!values) {
    return (
      <tr class="absent">
        <td colSpan={columns.length + 1}> </td>
      </tr>
    )
  }
  return (
    <tr class={change.op}>
      <td class="sign">{SIGNS[change.op]}</td>
      {columns.map((column) => {
        const place = table.key.indexOf(column)
        const value = column in values ? values[column] : place < 0 ? undefined : change.key[place]
        const isNew = change.op === 'update' && column in values
        return (
          <td key={column} class={isNew ? 'new' : ''}>
            <Value value={value} />
          </td>
        )
      })}
    </tr>
  )
}

function Value({ value }: { value: string | null | undefined }) {
  if (value === undefined) return <span class="muted">·</span>
  if (value === null) return <span class="muted">NULL</span>
  return <Foreign text={value} />
}
