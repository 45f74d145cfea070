import { expect, test } from 'vitest'
import { readLines } from './ndjson'
import { Problem } from './problem'

type Line = { rows?: number[]; done?: true }

const whole = '{"rows":[1]}\n{"rows":[2,3]}\n\n{"done":true}\n'
const encoder = new TextEncoder()

function answer(pieces: Uint8Array[]): Response {
  return new Response(
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece)
        controller.close()
      },
    }),
  )
}

async function read(response: Response): Promise<{ lines: Line[]; problem: unknown }> {
  const lines: Line[] = []
  try {
    for await (const line of readLines<Line>(response, (line) => line.done === true)) lines.push(line)
    return { lines, problem: null }
  } catch (problem) {
    return { lines, problem }
  }
}

test('an answer in pieces of any size is the same answer', async () => {
  const bytes = encoder.encode(whole)
  for (let size = 1; size <= bytes.length; size += 1) {
    const pieces = []
    for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.slice(at, at + size))
    expect(await read(answer(pieces))).toEqual({ lines: [{ rows: [1] }, { rows: [2, 3] }, { done: true }], problem: null })
  }
})

test('an answer that is cut anywhere before its last line ends is never taken for whole', async () => {
  const bytes = encoder.encode(whole)
  for (let end = 0; end < bytes.length; end += 1) {
    const { lines, problem } = await read(answer([bytes.slice(0, end)]))
    expect(lines.some(({ done }) => done), `cut at ${end}`).toBe(false)
    expect(problem, `cut at ${end}`).toBeInstanceOf(Problem)
    expect((problem as Problem).code).toBe('broke_off')
  }
})

test('a letter that is cut between its bytes arrives whole', async () => {
  const bytes = encoder.encode('{"text":"größe 🐌"}\n{"done":true}\n')
  for (let at = 0; at < bytes.length; at += 1) {
    const { lines } = await read(answer([bytes.slice(0, at), bytes.slice(at)]))
    expect(lines[0]).toEqual({ text: 'größe 🐌' })
  }
})

test('lines behind the last one are not read', async () => {
  const { lines, problem } = await read(answer([encoder.encode('{"done":true}\n{"rows":[9]}\n')]))
  expect(lines).toEqual([{ done: true }])
  expect(problem).toBeNull()
})
