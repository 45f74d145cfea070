import type { Change, ChangedTable, Preview } from '../api/preview'
import { count } from './format'

/** A value as it is written in a sentence. */
const said = (value: string | null | undefined): string => (value === null || value === undefined ? 'NULL' : `“${value}”`)

const values = (row: Readonly<Record<string, string | null>>, without: readonly string[]): string =>
  Object.entries(row)
    .filter(([name]) => !without.includes(name))
    .map(([name, value]) => `${name} ${said(value)}`)
    .join(', ')

/** Names a row by its key. */
const row = ({ key }: ChangedTable, change: Change): string =>
  key.length > 0 ? `Row ${key.map((name, at) => `${name} ${said(change.key[at])}`).join(', ')}` : 'A row'

export const changes = {
  title: ({ rows }: Preview) => (rows === 0 ? 'This statement would change no row' : `This statement would change ${count(rows, 'row', 'rows')}`),
  changed: 'The data have changed. This is what the statement would do now.',
  none: (reason: string) => `There is no preview: ${reason}.`,
  commit: 'Commit exactly this change',
  leave: 'Do not commit',
  preview: 'Preview',
  previewHint: 'Shows the rows that the statement would change, and commits nothing',
  statement: 'Statement',
  before: 'Before',
  after: 'After',
  sign: 'Change',
  masked: (columns: readonly string[]) => `Masked: ${columns.join(', ')}`,
  counts: ({ inserted, updated, deleted }: ChangedTable) =>
    [
      [inserted, 'added'],
      [updated, 'changed'],
      [deleted, 'removed'],
    ]
      .filter(([rows]) => rows)
      .map(([rows, word]) => count(rows as number, word as string, word as string))
      .join(', '),
  more: (rows: number) => `… ${count(rows, 'more row', 'more rows')}`,
  digest: 'Digest',
  grid: (table: string, side: string) => `${table}: ${side}`,
  sentence(table: ChangedTable, change: Change): string {
    const name = row(table, change)
    if (change.op === 'insert') return `${name} is added: ${values(change.after ?? {}, table.key)}.`
    if (change.op === 'delete') return `${name} is removed: ${values(change.before ?? {}, table.key)}.`
    const columns = Object.keys(change.after ?? {})
    const parts = columns.map((column) => `${column} from ${said(change.before?.[column])} to ${said(change.after?.[column])}`)
    return `${name} is changed: ${parts.join(', ')}.`
  },
}
