// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from 'vitest'
import { ask } from './chat'

afterEach(() => vi.unstubAllGlobals())

const events = (...list: unknown[]) => list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

async function answer(stream: string) {
  const seen: string[] = []
  vi.stubGlobal('fetch', async () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }))
  const question = { messages: [], tools: [], provider: 'p', model: 'm' }
  return { seen, answer: await ask(question, (text) => seen.push(text), new AbortController().signal) }
}

test('texts are shown as they arrive, and calls of tools keep their place', async () => {
  const use = { id: 'u1', name: 'count_rows', input: { table: 'orders' } }
  const stream = events({ type: 'text', text: 'I ' }, { type: 'text', text: 'count.' }, { type: 'tool_use_started', id: 'u1', name: 'count_rows' }, { type: 'tool_use', ...use }, { type: 'done', stop_reason: 'tool_use', token_usage: { total_tokens: 7 } })
  const { seen, answer: whole } = await answer(stream)
  expect(seen).toEqual(['I ', 'I count.'])
  expect(whole).toEqual({ blocks: [{ type: 'text', text: 'I count.' }, { type: 'tool_use', ...use }], stopReason: 'tool_use', tokens: 7 })
})

test('a failure in the middle is the failure of the whole', async () => {
  await expect(answer(events({ type: 'text', text: 'I ' }, { type: 'error', error: 'Overloaded', code: 'overloaded' }))).rejects.toMatchObject({ message: 'Overloaded', code: 'overloaded' })
})

test('an answer that breaks off is never taken for whole', async () => {
  await expect(answer(events({ type: 'text', text: 'It is 42' }))).rejects.toMatchObject({ code: 'broke_off' })
})
