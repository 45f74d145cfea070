import type { components } from 'openapi-rag'
import { readEvents } from './events'
import { Problem, problemOf, wasStopped } from './problem'

type Schemas = components['schemas']

export type Source = Schemas['Source']
export type Citation = Schemas['Citation']
export type DebugDetails = Schemas['DebugDetails']
export type Health = Schemas['HealthResponse']
export type Stats = Schemas['StatsResponse']

/** A pipeline that the caller may ask. */
export type PipelineOffer = Schemas['ConsolePipeline']

/** The server, and its pipelines. */
export type Offer = Schemas['ConsoleResponse']

/** A condition on a column of the rows that are searched. */
export interface Condition {
  column: string
  operator: string
  value?: string | string[]
}

/** A question as it is sent. */
export interface RagQuestion {
  query: string
  stream: true
  top_n?: number
  filter?: { conditions: Condition[]; logic: 'AND' | 'OR' }
  citations?: true
  stream_sources?: true
  debug?: true
  disable_hybrid?: true
  messages?: { role: 'user' | 'assistant'; content: string }[]
}

/** A part of an answer. The last one is `done` or `error`. */
export type RagEvent =
  | { type: 'sources'; sources: Source[] }
  | { type: 'chunk'; content: string }
  | ({ type: 'citation' } & Citation)
  | ({ type: 'debug' } & DebugDetails)
  | { type: 'done'; dropped_citations?: number; notice?: string }
  | { type: 'error'; error: string }

/** Token of the person. It is kept in memory only. */
let token = ''

/** Sends a token with each request from now on; an empty one with none. */
export function takeToken(value: string): void {
  token = value
}

/** Tells if requests have a token. */
export const hasToken = (): boolean => token !== ''

/** Path of the questions to a pipeline. */
export const pathOf = (pipeline: string): string => `/v1/pipelines/${encodeURIComponent(pipeline)}`

async function send(path: string, signal?: AbortSignal, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = { Accept: body === undefined ? 'application/json' : 'text/event-stream' }
  if (token) headers.Authorization = `Bearer ${token}`
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  let response: Response
  try {
    response = await fetch(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    })
  } catch (error) {
    if (wasStopped(error)) throw error
    throw new Problem(0, 'The server cannot be reached.', 'gone')
  }
  if (!response.ok) throw await problemOf(response)
  return response
}

async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await send(path, signal)
  return response.json().catch((error: unknown) => {
    if (wasStopped(error)) throw error
    throw new Problem(0, 'The answer of the server broke off.', 'broke_off', response.headers.get('x-request-id'))
  })
}

/** Reads what the server offers to this caller. */
export const offer = (): Promise<Offer> => read('/v1/console')

/** Asks every provider of the pipelines once if it is there. */
export const health = (): Promise<Health> => read('/v1/health')

/** Reads the counters of tokens. */
export const stats = (): Promise<Stats> => read('/v1/stats')

/** Asks a pipeline. Hanging up ends the search and the request to the model. */
export async function* question(pipeline: string, body: RagQuestion, signal: AbortSignal): AsyncGenerator<RagEvent, void> {
  const response = await send(pathOf(pipeline), signal, body)
  yield* readEvents<RagEvent>(response, ({ type }) => type === 'done' || type === 'error')
}
