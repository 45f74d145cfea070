import { Problem, wasStopped } from './problem'

/**
 * Reads a stream of events whose data is JSON.
 *
 * The last value has to satisfy `isEnd`; a stream that ends without it throws a `Problem` with the code
 * `broke_off`.
 */
export async function* readEvents<T>(response: Response, isEnd: (event: T) => boolean): AsyncGenerator<T, void> {
  const brokeOff = () => new Problem(0, 'The answer broke off.', 'broke_off', response.headers.get('x-request-id'))
  const reader = response.body?.getReader()
  if (!reader) throw brokeOff()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw wasStopped(error) ? error : brokeOff()
      })
      rest += decoder.decode(value, { stream: !done })
      for (let end = EVENT_END.exec(rest); end; end = EVENT_END.exec(rest)) {
        const event = read<T>(rest.slice(0, end.index), brokeOff)
        rest = rest.slice(end.index + end[0].length)
        if (event === undefined) continue
        yield event
        if (isEnd(event)) return
      }
      if (done) throw brokeOff()
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

const EVENT_END = /\r?\n\r?\n/

// An event without data is a comment that keeps the connection open.
function read<T>(event: string, brokeOff: () => Problem): T | undefined {
  const data = event
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).replace(/^ /, ''))
    .join('\n')
  if (!data) return undefined
  try {
    return JSON.parse(data) as T
  } catch {
    throw brokeOff()
  }
}
