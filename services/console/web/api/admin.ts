import type { Connections } from './activity'
import { call } from './client'

/** An API token, without its secret. */
export interface Token {
  id: string
  note: string
  hash_prefix: string
  database: string | null
  toolsets: string[] | null
  created_at: string | null
  expires_at: string | null
  expired: boolean
  last_used_at: string | null
}

export interface NewToken {
  note: string
  database: string
  expiry: string
  toolsets?: string[]
}

const signalOf = (signal?: AbortSignal) => ({ signal: signal ?? null })

export const tokens = (signal?: AbortSignal): Promise<{ tokens: Token[] }> => call('/api/admin/tokens', signalOf(signal))

/** Makes a token. It is in this answer and nowhere else. */
export const makeToken = (body: NewToken): Promise<{ token: string; record: Token }> => call('/api/admin/tokens', { body })

export const withdrawToken = (id: string): Promise<void> => call(`/api/admin/tokens/${encodeURIComponent(id)}`, { method: 'DELETE' })

/** A user of the user file. */
export interface User {
  username: string
  note: string
  enabled: boolean
  admin: boolean
  /** Databases that the user is limited to; empty for no limit. */
  databases: string[]
  created_at: string | null
  last_login: string | null
  failed_attempts: number
  /** Null if the state database does not answer. */
  sessions: number | null
}

export interface NewUser {
  username: string
  /** Absent: the server makes one. */
  password?: string
  note: string
  databases: string[]
}

export type UserChange = Partial<Pick<NewUser, 'password' | 'note' | 'databases'>> & { enabled?: boolean }

const userPath = (name: string) => `/api/admin/users/${encodeURIComponent(name)}`

export const users = (signal?: AbortSignal): Promise<{ users: User[] }> => call('/api/admin/users', signalOf(signal))

/** Makes a user. A password that the server made is in this answer and nowhere else. */
export const makeUser = (body: NewUser): Promise<{ user: User; password: string | null }> => call('/api/admin/users', { body })

export const changeUser = (name: string, body: UserChange): Promise<User> => call(userPath(name), { method: 'PATCH', body })

export const deleteUser = (name: string): Promise<void> => call(userPath(name), { method: 'DELETE' })

export const endSessions = (name: string): Promise<void> => call(`${userPath(name)}/sessions`, { method: 'DELETE' })

/** A configured database, without its password. */
export interface AdminDatabase {
  name: string
  host: string
  port: number
  database: string
  user: string
  sslmode: string
  allow_writes: boolean
  allow_dangerous_functions: boolean
  /** Empty for no limit. */
  available_to_users: string[]
  available_to_clients: string[]
  status: 'unknown' | 'ready' | 'unreachable'
  checked_at: string | null
  version: string | null
  tables: number | null
  connections: Omit<Connections, 'database'> | null
}

/** Result of a connection that was made to look at a database. */
export interface DatabaseTest {
  ok: boolean
  ms: number
  version: string | null
  tls: boolean | null
  standby: boolean | null
  role: { superuser: boolean; may_write: boolean; bypasses_row_security: boolean } | null
  extensions: { name: string; version: string }[] | null
  warnings: string[]
  error: string | null
}

export const adminDatabases = (signal?: AbortSignal): Promise<{ databases: AdminDatabase[] }> => call('/api/admin/databases', signalOf(signal))

export const testDatabase = (name: string): Promise<DatabaseTest> => call(`/api/admin/databases/${encodeURIComponent(name)}/test`, { method: 'POST' })

/** A key of the configuration. Secrets have no value, only whether they are set. */
export interface Setting {
  key: string
  value?: unknown
  source?: string
  is_set?: boolean
}

export interface Configuration {
  server: { version: string; replica: string | null; started_at: string; memory_bytes: number | null }
  path: string | null
  loaded_at: string | null
  values: Setting[]
  needs_restart: string[]
}

/** Effect of reading the configuration again. */
export interface Reloaded {
  changed: string[]
  needs_restart: string[]
}

export const configuration = (signal?: AbortSignal): Promise<Configuration> => call('/api/admin/configuration', signalOf(signal))

export const reloadConfiguration = (): Promise<Reloaded> => call('/api/admin/reload', { body: {} })
