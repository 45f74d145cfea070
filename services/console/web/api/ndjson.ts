import { Problem, wasStopped } from './problem'

/** Longest line that is read, so that a broken server cannot fill the memory of the tab. */
const LONGEST_LINE = 32 * 1024 * 1024

/**
 * Reads an answer with one JSON value on each line.
 *
 * The last value has to satisfy `isEnd`. An answer that ends without it, in the middle of a line or after one,
 * throws a `Problem` with the code `broke_off`: what has arrived so far is never taken for the whole.
 */
export async function* readLines<T>(response: Response, isEnd: (line: T) => boolean): AsyncGenerator<T, void> {
  const requestId = response.headers.get('x-request-id')
  const brokeOff = () => new Problem(0, 'The answer broke off. Rows are missing.', 'broke_off', requestId)
  if (!response.body) throw brokeOff()
  const reader = response.body.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await read(reader, brokeOff)
      rest += decode(decoder, value, brokeOff)
      let from = 0
      for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', from)) {
        const line = rest.slice(from, end)
        from = end + 1
        if (line.trim() === '') continue
        const item = parse<T>(line, brokeOff)
        yield item
        if (isEnd(item)) return
      }
      rest = rest.slice(from)
      if (done || rest.length > LONGEST_LINE) throw brokeOff()
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>, brokeOff: () => Problem) {
  try {
    return await reader.read()
  } catch (error) {
    if (wasStopped(error)) throw error
    throw brokeOff()
  }
}

function decode(decoder: TextDecoder, bytes: Uint8Array | undefined, brokeOff: () => Problem): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined })
  } catch {
    throw brokeOff()
  }
}

function parse<T>(line: string, brokeOff: () => Problem): T {
  try {
    return JSON.parse(line) as T
  } catch {
    throw brokeOff()
  }
}
