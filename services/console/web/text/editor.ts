/** Texts of the editor. */
import { count, estimate } from './format'

interface Table {
  readonly kind: string
  readonly rows: number | null
}

export const editor = {
  label: 'SQL',
  placeholder: 'select … — Ctrl Space lists tables and columns',
  leave: 'Tab indents. Esc, then Tab leaves the editor.',
  schema: 'schema',
  join: 'foreign key',
  table: ({ kind, rows }: Table): string => {
    if (rows === null || rows < 0) return kind
    return `${kind} · ${rows < 10_000 ? count(rows, 'row', 'rows') : `${estimate(rows)} rows`}`
  },
}
