/** A row that a statement would change. Values are as PostgreSQL prints them; null is NULL. */
export interface Change {
  op: 'insert' | 'update' | 'delete'
  key: readonly (string | null)[]
  /** Of a changed row, the changed columns. */
  before?: Readonly<Record<string, string | null>>
  after?: Readonly<Record<string, string | null>>
}

/** The changed rows of a table. */
export interface ChangedTable {
  table: string
  inserted: number
  updated: number
  deleted: number
  key: readonly string[]
  /** Columns with values that are hidden from the caller. */
  masked?: readonly string[]
  changes: readonly Change[]
  /** Rows that are not among them. */
  more: number
}

/** The rows that a statement would change. */
export interface Preview {
  rows: number
  tables: readonly ChangedTable[]
  notes: readonly string[]
  digest?: string
}

/** The rows that a statement would change, or why they cannot be seen. */
export interface Looked {
  readonly preview: Preview | null
  readonly reason: string | null
  /** Is true if the data have changed since an earlier preview. */
  readonly changed: boolean
}

/** Nothing of a preview, where a database has none. */
export const UNSEEN: Looked = { preview: null, reason: null, changed: false }
