import type { Cell, Column } from '../parts/grid/cell'
import { call, open } from './client'
import { readLines } from './ndjson'
import type { Preview } from './preview'
import { Problem } from './problem'

/** A statement to run. */
export interface QueryRequest {
  database: string
  sql: string
  max_rows: number
  timeout_ms?: number
  /** The seal of an earlier answer that asked for a confirmation. */
  confirm?: string
}

/** A message of PostgreSQL about a statement. */
export interface Notice {
  severity: string
  message: string
  sqlstate: string
  detail: string | null
  hint: string | null
}

/** The end of a statement that ran. */
export interface Done {
  rows: number
  /** The limit that ended the rows; null if these are all. */
  truncated: 'rows' | 'bytes' | null
  command: string | null
  affected: number | null
  notices: readonly Notice[]
  ms: number
}

/** The end of a statement that failed. */
export interface QueryFailure {
  message: string
  sqlstate: string | null
  /** In the text that was sent, in characters, counted from one. */
  position: number | null
  detail: string | null
  hint: string | null
  code: string
}

/** One line of an answer. The last one has `done` or `error`. */
export interface QueryLine {
  started?: { id: string; database: string; read_only: boolean }
  columns?: readonly Column[]
  rows?: readonly (readonly Cell[])[]
  done?: Done
  error?: QueryFailure
}

/** A statement that may write and has to be confirmed. */
export interface Demand {
  statement: string
  database: string
  confirm: string
  /** The rows that it would change; null if there are none to be seen, for the reason. */
  preview: Preview | null
  reason: string | null
  /** Is true if the data have changed since an earlier preview. */
  changed: boolean
}

/** Runs a statement and returns its lines as they arrive. Hanging up cancels it in PostgreSQL. */
export async function* query(request: QueryRequest, signal: AbortSignal): AsyncGenerator<QueryLine, void> {
  const response = await open('/api/query', { body: request, signal })
  yield* readLines<QueryLine>(response, (line) => line.done !== undefined || line.error !== undefined)
}

/** Returns the rows that a statement would change, and commits nothing. */
export function previewOf(request: { database: string; sql: string }, signal: AbortSignal): Promise<Preview> {
  return call('/api/query', { body: { ...request, preview: 'only' }, signal })
}

/** Runs a statement that only reads, and returns the request with the text of its answer and the receipt. */
export async function withReceipt(request: QueryRequest): Promise<string> {
  const asked = { ...request, receipt: 'rows' }
  const response = await (await open('/api/query', { body: asked })).text()
  return JSON.stringify({ request: asked, response })
}

/** Returns what has to be confirmed if that is why a request was refused. */
export function demandOf(problem: unknown): Demand | null {
  if (!(problem instanceof Problem)) return null
  const changed = problem.code === 'changed'
  if (!changed && problem.code !== 'confirm') return null
  const body = problem.body as Partial<Demand> | null
  if (typeof body?.statement !== 'string' || typeof body.confirm !== 'string') return null
  const { statement, confirm, preview = null, reason = null } = body
  return { statement, database: String(body.database), confirm, preview, reason, changed }
}

export type ExportFormat = 'csv' | 'tsv' | 'json' | 'ndjson'

/** A file that the server writes while it is downloaded. */
export interface ExportRequest {
  database: string
  sql: string
  format: ExportFormat
  max_rows?: number
  guard_formulas: boolean
}

/** Makes a link to a file with the rows of a query. It works once, in this session. */
export function makeExport(request: ExportRequest): Promise<{ href: string; expires_at: string }> {
  return call('/api/exports', { body: request })
}
