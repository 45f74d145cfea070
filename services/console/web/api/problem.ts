/** A request that did not succeed, in the words of the server where it has answered. */
export class Problem extends Error {
  override readonly name = 'Problem'

  constructor(
    /** HTTP status; 0 if no answer arrived. */
    readonly status: number,
    message: string,
    /** Word for programs, such as `not_found`; `gone` if no answer arrived, `broke_off` if it ended early. */
    readonly code: string,
    /** Id of the request in the server's log, if it has named one. */
    readonly requestId: string | null = null,
    /** Seconds to wait before the next try, if the server has said so. */
    readonly retryAfter: number | null = null,
    /** The whole answer, for members beyond the sentence and the code. */
    readonly body: unknown = null,
  ) {
    super(message)
  }

  /** Tells if the same request may succeed later. */
  get canRetry(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }
}

/** Turns an answer that is not a success into a problem. Reads at most one body. */
export async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => '')
  const body = parsed(text)
  const said = sentenceOf(body) ?? (text.trim().slice(0, 500) || `${response.status} ${response.statusText}`.trim())
  const code = memberOf(body, 'code')
  return new Problem(
    response.status,
    said,
    typeof code === 'string' ? code : '',
    response.headers.get('x-request-id'),
    secondsOf(response.headers.get('retry-after')),
    body,
  )
}

/** The problem of a person who has stopped a request: there is nothing to show. */
export const stopped = (): Problem => new Problem(0, 'Stopped before there was an answer.', 'stopped')

/** Tells if a failure is one that a person has asked for: a request that was stopped. */
export const wasStopped = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError'

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function memberOf(body: unknown, name: string): unknown {
  return body && typeof body === 'object' ? (body as Record<string, unknown>)[name] : undefined
}

function sentenceOf(body: unknown): string | null {
  const error = memberOf(body, 'error')
  if (typeof error === 'string') return error
  const message = memberOf(error, 'message')
  return typeof message === 'string' ? message : null
}

function secondsOf(header: string | null): number | null {
  if (!header) return null
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : null
}
