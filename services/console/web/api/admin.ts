import type { components } from 'openapi'
import { call } from './client'

type Schemas = components['schemas']

/** An answer as it is sent: members without a value are null, none is absent. */
type Whole<T> = Required<T>

const signalOf = (signal?: AbortSignal) => ({ signal: signal ?? null })

/** An API token, without its secret. */
export type Token = Whole<Schemas['AdminToken']>

export type NewToken = Schemas['NewAdminToken']

export const tokens = (signal?: AbortSignal): Promise<{ tokens: Token[] }> => call('/api/admin/tokens', signalOf(signal))

/** Makes a token. It is in this answer and nowhere else. */
export const makeToken = (body: NewToken): Promise<{ token: string; record: Token }> => call('/api/admin/tokens', { body })

export const revokeToken = (id: string): Promise<void> => call(`/api/admin/tokens/${encodeURIComponent(id)}`, { method: 'DELETE' })

/** A user of the user file. */
export type User = Whole<Schemas['AdminUser']>

/** A user to make. Without a password the server makes one. */
export type NewUser = Schemas['NewAdminUser']

export type UserChange = Schemas['AdminUserChanges']

const userPath = (name: string) => `/api/admin/users/${encodeURIComponent(name)}`

export const users = (signal?: AbortSignal): Promise<{ users: User[] }> => call('/api/admin/users', signalOf(signal))

/** Makes a user. A password that the server made is in this answer and nowhere else. */
export const makeUser = (body: NewUser): Promise<{ user: User; password: string | null }> => call('/api/admin/users', { body })

export const changeUser = (name: string, body: UserChange): Promise<User> => call(userPath(name), { method: 'PATCH', body })

export const deleteUser = (name: string): Promise<void> => call(userPath(name), { method: 'DELETE' })

export const endSessions = (name: string): Promise<void> => call(`${userPath(name)}/sessions`, { method: 'DELETE' })

/** The permission of a user for a client, or a session of the console. */
export type Grant = Whole<Schemas['AdminGrant']>

export const grantsOf = (name: string, signal?: AbortSignal): Promise<{ grants: Grant[] }> => call(`/api/admin/grants?username=${encodeURIComponent(name)}`, signalOf(signal))

export const endGrant = (id: string): Promise<void> => call(`/api/admin/grants/${encodeURIComponent(id)}`, { method: 'DELETE' })

/** A configured database, without its password. */
export type AdminDatabase = Whole<Schemas['AdminDatabase']>

/** Result of a connection that was made to look at a database. */
export type DatabaseTest = Whole<Schemas['AdminDatabaseTest']>

export const adminDatabases = (signal?: AbortSignal): Promise<{ databases: AdminDatabase[] }> => call('/api/admin/databases', signalOf(signal))

export const testDatabase = (name: string): Promise<DatabaseTest> => call(`/api/admin/databases/${encodeURIComponent(name)}/test`, { method: 'POST' })

/** A key of the configuration. Secrets have no value, only whether they are set. */
export interface Setting {
  key: string
  value?: unknown
  source?: string
  is_set?: boolean
}

export type Configuration = Omit<Whole<Schemas['AdminConfiguration']>, 'values' | 'server'> & { server: Whole<Schemas['AdminServer']>; values: Setting[] }

/** Effect of reading the configuration again. */
export type Reloaded = Schemas['AdminReload']

export const configuration = (signal?: AbortSignal): Promise<Configuration> => call('/api/admin/configuration', signalOf(signal))

export const reloadConfiguration = (): Promise<Reloaded> => call('/api/admin/reload', { body: {} })
