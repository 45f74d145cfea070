import { expect, test } from 'vitest'
import { readEvents } from './events'

type Event = { type: string; text?: string }

const whole = ': keep\r\n\r\nevent: message\r\ndata: {"type":"text","text":"größe"}\r\n\r\ndata: {"type":"done"}\n\n'
const encoder = new TextEncoder()

async function read(pieces: Uint8Array[]): Promise<{ events: Event[]; failed: boolean }> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
  const events: Event[] = []
  try {
    for await (const event of readEvents<Event>(new Response(body), ({ type }) => type === 'done')) events.push(event)
    return { events, failed: false }
  } catch {
    return { events, failed: true }
  }
}

test('events in pieces of any size are the same events', async () => {
  const bytes = encoder.encode(whole)
  for (let at = 0; at <= bytes.length; at += 1) {
    expect(await read([bytes.slice(0, at), bytes.slice(at)])).toEqual({ events: [{ type: 'text', text: 'größe' }, { type: 'done' }], failed: false })
  }
})

test('a stream that is cut before its last event ends is never taken for whole', async () => {
  const bytes = encoder.encode(whole)
  for (let end = 0; end < bytes.length - 1; end += 1) {
    const { events, failed } = await read([bytes.slice(0, end)])
    expect(failed, `cut at ${end}`).toBe(true)
    expect(events.some(({ type }) => type === 'done')).toBe(false)
  }
})
