import { untilBack } from './connection'
import { HEADER, key } from './key'
import { Problem, problemOf, wasStopped } from './problem'

/** Parts of a request that callers set. */
export interface Options {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON. */
  body?: unknown
  headers?: Record<string, string>
  /** Stops the request. The server then cancels the statement. */
  signal?: AbortSignal | null
}

/** Signs in again; resolves with false if the person would rather not. Set by the shell. */
let signInAgain: (() => Promise<boolean>) | null = null

/** Sets the dialog that is shown over the work when a session has ended. */
export function onSessionOver(ask: () => Promise<boolean>): void {
  signInAgain = ask
}

/**
 * Sends a request with this browser's session and returns its answer, whatever its status.
 *
 * A request that reads is repeated when the server is back; any request is repeated after the person has
 * signed in again, because the server refuses with 401 before it does anything.
 */
export async function send(path: string, options: Options = {}): Promise<Response> {
  const method = options.method ?? (options.body === undefined ? 'GET' : 'POST')
  for (;;) {
    let response: Response
    try {
      response = await fetch(path, {
        method,
        headers: headersOf(options),
        body: options.body === undefined ? null : JSON.stringify(options.body),
        signal: options.signal ?? null,
        cache: 'no-store',
        credentials: 'same-origin',
        redirect: 'error',
      })
    } catch (error) {
      if (wasStopped(error)) throw error
      const back = untilBack(options.signal)
      if (method !== 'GET') {
        back.catch(() => {})
        throw new Problem(0, 'The server cannot be reached. Nothing was changed here.', 'gone')
      }
      await back
      continue
    }
    if (response.status === 401 && signInAgain && (await signInAgain())) continue
    return response
  }
}

/** Sends a request and reads its JSON answer. Throws a `Problem` for every other status than 2xx. */
export async function call<T>(path: string, options: Options = {}): Promise<T> {
  const response = await send(path, options)
  if (!response.ok) throw await problemOf(response)
  if (response.status === 204) return undefined as T
  const id = response.headers.get('x-request-id')
  try {
    return (await response.json()) as T
  } catch (error) {
    if (wasStopped(error)) throw error
    throw new Problem(0, 'The answer of the server broke off.', 'broke_off', id)
  }
}

/** Sends a request and returns its answer for reading piece by piece. */
export async function open(path: string, options: Options = {}): Promise<Response> {
  const response = await send(path, options)
  if (!response.ok) throw await problemOf(response)
  return response
}

function headersOf({ body, headers }: Options): Record<string, string> {
  const own: Record<string, string> = { [HEADER]: key(), Accept: 'application/json' }
  if (body !== undefined) own['Content-Type'] = 'application/json'
  return { ...own, ...headers }
}
