import { signal } from '@preact/signals'
import { exchange, type McpRequest, type McpResponse, requestFor, type Revision } from '../../api/mcp'
import { Problem, wasStopped } from '../../api/problem'
import { tools as text } from '../../text/tools'

/** A request and its response. Credentials are in neither. */
export interface Exchange {
  id: number
  at: number
  /** Name of the tool, resource or prompt. */
  title: string
  revision: Revision
  request: McpRequest
  response: McpResponse | null
  /** Sentence if no response arrived. */
  failure: string | null
}

const KEPT = 50

/** The last exchanges of this tab, newest first. They are never stored. */
export const exchanges = signal<readonly Exchange[]>([])

/** The exchange that is shown. */
export const shownExchange = signal<number | null>(null)

let next = 1

/** Sends a request of a revision, and keeps it with its response. */
export async function record(title: string, revision: Revision, method: string, params: Record<string, unknown>, meta: Record<string, unknown>, signal: AbortSignal): Promise<Exchange> {
  const request = requestFor(revision, method, params, meta)
  const base = { id: next++, at: Date.now(), title, revision, request }
  let made: Exchange
  try {
    made = { ...base, response: await exchange(request, signal), failure: null }
  } catch (problem) {
    made = { ...base, response: null, failure: wasStopped(problem) ? text.stopped : problem instanceof Problem ? problem.message : String(problem) }
  }
  exchanges.value = [made, ...exchanges.peek()].slice(0, KEPT)
  shownExchange.value = made.id
  return made
}

/** The request that a server has answered with, when it asks back. */
export interface Ask {
  key: string
  message: string
  schema: Record<string, unknown>
}

/** Finds what the server asks in a response; null if it asks nothing. */
export function asksIn(response: McpResponse | null): { asks: Ask[]; state: unknown } | null {
  const result = response?.message?.result
  if (result?.resultType !== 'input_required') return null
  const requests = (result.inputRequests ?? {}) as Record<string, { params?: { message?: string; requestedSchema?: Record<string, unknown> } }>
  const asks = Object.entries(requests).map(([key, { params }]) => ({ key, message: params?.message ?? '', schema: params?.requestedSchema ?? {} }))
  return { asks, state: result.requestState }
}
