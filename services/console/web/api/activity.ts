import type { components } from 'openapi'
import { call } from './client'

type Schemas = components['schemas']

/** Statements and connections of one replica of the server. Members without a value are null, none is absent. */
export type Activity = Omit<Required<Schemas['Activity']>, 'running' | 'finished'> & { running: Running[]; finished: Finished[] }

export type Running = Required<Schemas['RunningStatement']> & Facts

export type Finished = Required<Schemas['FinishedStatement']> & Facts

type Facts = Omit<Required<Schemas['StatementFacts']>, 'caller'> & { caller: Required<Schemas['StatementCaller']> }

/** Times of the calls of a tool in the last minutes. */
export type Latency = Schemas['ActivityLatency']

/** Connections of the server to a database. */
export type Connections = Schemas['DatabaseConnections']

export type Scope = 'own' | 'all'

/** Returns the statements of the caller, or of all callers for administrators. */
export const activity = (scope: Scope, signal: AbortSignal): Promise<Activity> => call(`/api/activity?scope=${scope}`, { signal })

/** Asks PostgreSQL to end a statement. */
export const cancelStatement = (id: string): Promise<unknown> => call(`/api/activity/${encodeURIComponent(id)}/cancel`, { method: 'POST' })
