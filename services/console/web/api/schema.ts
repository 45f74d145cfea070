import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { send } from './client'
import { result } from './mcp'
import { Problem, problemOf, stopped } from './problem'

/** The column that a foreign key refers to. */
export interface Reference {
  schema: string
  table: string
  column: string
}

export interface SchemaColumn {
  name: string
  type: string
  nullable: boolean
  default: string | null
  comment: string | null
  key: 'primary' | 'unique' | null
  indexed: boolean
  identity: string | null
  /** Of its vectors. */
  dimensions: number | null
  references: Reference | null
}

export interface SchemaIndex {
  name: string
  columns: readonly string[]
  unique: boolean
  method: string
  definition: string
}

export interface SchemaTable {
  name: string
  /** Such as `table` or `materialized view`. */
  kind: string
  comment: string | null
  /** An estimate. */
  rows: number | null
  bytes: number | null
  columns: readonly SchemaColumn[]
  indexes: readonly SchemaIndex[]
}

/** The tables of a database. */
export interface Catalogue {
  database: string
  loaded_at: string
  /** Is true if there are more tables than are listed. */
  cut: boolean
  /** Schemas that the role of the server may not use. */
  denied: readonly string[]
  schemas: readonly { name: string; tables: readonly SchemaTable[] }[]
}

/** Details that the server reads of a single table; those without content are absent. */
export interface TableDetails {
  policies?: readonly { name: string; command: string; roles: readonly string[]; isPermissive: boolean; using?: string; withCheck?: string }[]
  checks?: readonly { name: string; definition: string; column?: string }[]
  enums?: readonly { column: string; labels: readonly string[] }[]
  triggers?: readonly string[]
  /** The query of a view. */
  view?: string
  partitions?: string
  partitionOf?: string
  rowSecurity?: 'on' | 'forced'
  notReadable?: boolean
  unreadableColumns?: readonly string[]
}

/** Reads the details of a table. */
export async function tableDetails(database: string, schema: string, table: string, signal: AbortSignal): Promise<TableDetails> {
  const uri = `pg://${[database, schema, table].map(encodeURIComponent).join('/')}`
  const { contents } = await result<{ contents: { text?: string }[] }>('resources/read', { uri }, { signal })
  return JSON.parse(contents[0]?.text ?? '{}') as TableDetails
}

/** The tables of a database as far as they are known. A failed refresh keeps what was known before. */
export interface CatalogueState {
  catalogue: Catalogue | null
  problem: unknown
  loading: boolean
}

interface Entry {
  state: Signal<CatalogueState>
  etag: string | null
  running: AbortController
}

const entries = new Map<string, Entry>()

/** The tables of a database for all screens. The first caller loads them. */
export function catalogueOf(database: string): ReadonlySignal<CatalogueState> {
  const known = entries.get(database)
  if (known) return known.state
  const entry: Entry = {
    state: signal<CatalogueState>({ catalogue: null, problem: null, loading: false }),
    etag: null,
    running: new AbortController(),
  }
  entries.set(database, entry)
  if (database !== '') void load(database, entry, false)
  return entry.state
}

/** Loads the tables again; `refresh` also makes the server read them again. */
export function reloadCatalogue(database: string, refresh: boolean): Promise<void> {
  const entry = entries.get(database)
  return entry ? load(database, entry, refresh) : Promise.resolve()
}

/** Stops loading the tables. */
export const stopCatalogue = (database: string): void => entries.get(database)?.running.abort()

/** Forgets all tables, for another caller. */
export function forgetCatalogues(): void {
  entries.clear()
}

async function load(database: string, entry: Entry, refresh: boolean): Promise<void> {
  const { state } = entry
  if (state.peek().loading) return
  entry.running = new AbortController()
  state.value = { ...state.peek(), problem: null, loading: true }
  try {
    const query = new URLSearchParams({ database, ...(refresh ? { refresh: 'true' } : {}) })
    const headers: Record<string, string> = entry.etag ? { 'If-None-Match': entry.etag } : {}
    const response = await send(`/api/schema?${query}`, { headers, signal: entry.running.signal })
    if (response.status === 304) {
      state.value = { ...state.peek(), loading: false }
      return
    }
    if (!response.ok) throw await problemOf(response)
    const catalogue = (await response.json().catch(() => null)) as Catalogue | null
    if (!catalogue) throw new Problem(0, 'The answer of the server broke off.', 'broke_off')
    entry.etag = response.headers.get('etag')
    state.value = { catalogue, problem: null, loading: false }
  } catch (failure) {
    const problem = entry.running.signal.aborted ? stopped() : failure
    state.value = { ...state.peek(), problem, loading: false }
  }
}
