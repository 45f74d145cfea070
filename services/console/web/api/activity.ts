import { call } from './client'

/** Identity that a statement runs for. */
export interface Caller {
  kind: string
  /** Null for the caller of a server without sign-in. */
  name: string | null
}

/** Facts of a statement, whether it runs or has ended. Members without a value are null. */
interface Statement {
  id: string
  caller: Caller
  /** Way in, such as `mcp` or `query`. */
  via: string
  tool: string | null
  database: string | null
  /** Null if the server is not to show statements. */
  statement: string | null
  started_at: string
  ms: number
  rows: number | null
  bytes: number | null
}

export interface Running extends Statement {
  state: 'waiting' | 'running' | 'sending' | 'cancelling'
}

export interface Finished extends Statement {
  /** Word for its end, such as `ok` or `error`. */
  outcome: string
  code: string | null
}

/** Times of the calls of a tool in the last minutes. */
export interface Latency {
  tool: string
  count: number
  errors: number
  p50_ms: number | null
  p95_ms: number | null
  p99_ms: number | null
}

/** Connections of the server to a database. */
export interface Connections {
  database: string
  in_use: number
  idle: number
  waiting: number
  limit: number | null
}

/** Work of one replica of the server. */
export interface Activity {
  replica: string | null
  running: Running[]
  finished: Finished[]
  latency: Latency[]
  connections: Connections[]
}

export type Scope = 'own' | 'all'

/** Returns the statements of the caller, or of all callers for administrators. */
export const activity = (scope: Scope, signal: AbortSignal): Promise<Activity> => call(`/api/activity?scope=${scope}`, { signal })

/** Asks PostgreSQL to end a statement. */
export const cancelStatement = (id: string): Promise<unknown> => call(`/api/activity/${encodeURIComponent(id)}/cancel`, { method: 'POST' })
