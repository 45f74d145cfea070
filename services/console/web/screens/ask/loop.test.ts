// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { UNSEEN } from '../../api/preview'
import type { Block } from '../../api/chat'
import { answer, MOST_ROUNDS, type Surroundings, type Tool } from './loop'
import { fromKept, newTurn, stepsOf, toKeep, type Turn } from './turns'

const query: Tool = { name: 'query_database', description: '', inputSchema: { properties: { query: {}, database: {} } } }
const use = (input: Record<string, unknown>, id = 'u1'): Block => ({ type: 'tool_use', id, name: 'query_database', input })
const said = (...content: Block[]) => ({ content, stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn', token_usage: { total_tokens: 10 } })
// The answer of a model as the server streams it.
function streamOf({ content, ...end }: ReturnType<typeof said>): string {
  const started: unknown[] = content.flatMap<unknown>((block) => (block.type === 'tool_use' ? [{ type: 'tool_use_started', id: block.id, name: block.name }, block] : [block]))
  return [...started, { type: 'done', ...end }].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
}

const text = (words: string): Block => ({ type: 'text', text: words })
const done = (words: string) => ({ resultType: 'complete', content: [{ type: 'text', text: words }], structuredContent: { columns: ['a'], rows: [[1]] } })
const asks = { resultType: 'input_required', inputRequests: { confirm: { params: { message: 'May this run?' } } }, requestState: 's' }

type Body = { messages: { role: string; content: unknown }[]; tools: unknown[]; params: { arguments: Record<string, unknown>; inputResponses?: unknown } }
let model: unknown[]
let tool: unknown[]
let calls: { path: string; body: Body }[]
let shown: Turn[]

beforeEach(() => {
  model = []
  tool = []
  calls = []
  shown = []
  vi.stubGlobal('fetch', async (path: string, options: RequestInit) => {
    const body = JSON.parse(String(options.body))
    calls.push({ path, body })
    if (options.signal?.aborted) throw new DOMException('stopped', 'AbortError')
    const next = path === '/mcp' ? { jsonrpc: '2.0', id: body.id, result: tool.shift() } : model.length > 1 ? model.shift() : model[0]
    return path === '/mcp' ? new Response(JSON.stringify(next)) : new Response(streamOf(next as ReturnType<typeof said>), { headers: { 'content-type': 'text/event-stream' } })
  })
})

afterEach(() => vi.unstubAllGlobals())

const around = (change: Partial<Surroundings> = {}): Surroundings => ({
  database: 'shop',
  signal: new AbortController().signal,
  show: (turn) => shown.push(turn),
  confirm: async () => {
    throw new Error('nothing is to be confirmed')
  },
  ...change,
})

const modelCalls = () => calls.filter(({ path }) => path === '/api/llm/chat/stream')
const toolCalls = () => calls.filter(({ path }) => path === '/mcp')

test('a tool runs in the database of the tab, and its result goes back to the model', async () => {
  model = [said(use({ query: 'select 1' })), said(text('It is 1.'))]
  tool = [done('a\n1')]
  const turn = await answer(newTurn('How many?', 'p', 'm'), [], [query], around())
  expect(turn.state).toBe('done')
  expect(turn.parts.map(({ kind }) => kind)).toEqual(['step', 'text'])
  expect(turn.tokens).toBe(20)
  expect(toolCalls()[0]?.body.params.arguments).toEqual({ query: 'select 1', database: 'shop' })
  expect(modelCalls()[1]?.body.messages.at(-1)).toEqual({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'u1', content: 'a\n1' }] })
})

test('a write that is declined is not sent again, and the model learns of it', async () => {
  model = [said(use({ query: 'drop table t' })), said(text('As you wish.'))]
  tool = [asks]
  const confirm = vi.fn(async () => false)
  const turn = await answer(newTurn('Drop it', 'p', 'm'), [], [query], around({ confirm }))
  expect(confirm).toHaveBeenCalledWith({ statement: 'drop table t', database: 'shop', seen: UNSEEN })
  expect(stepsOf(turn)[0]?.state).toBe('declined')
  expect(toolCalls()).toHaveLength(1)
  expect(modelCalls()[1]?.body.messages.at(-1)?.content).toMatchObject([{ is_error: true }])
})

test('what is confirmed of another tool is the question of the server, whatever its arguments are called', async () => {
  model = [said({ type: 'tool_use', id: 'u1', name: 'pay', input: { query: 'harmless', amount: 7 } } as never), said(text('No.'))]
  tool = [asks]
  const confirm = vi.fn(async () => false)
  await answer(newTurn('Pay', 'p', 'm'), [], [{ ...query, name: 'pay' }], around({ confirm }))
  expect(confirm).toHaveBeenCalledWith({ statement: 'May this run?', database: 'shop', seen: UNSEEN })
})

test('a write that is agreed to runs with the state that the server has sealed', async () => {
  model = [said(use({ query: 'drop table t' })), said(text('Done.'))]
  tool = [asks, done('DROP TABLE')]
  const turn = await answer(newTurn('Drop it', 'p', 'm'), [], [query], around({ confirm: async () => true }))
  expect(toolCalls()[1]?.body.params).toMatchObject({ requestState: 's', inputResponses: { confirm: { action: 'accept', content: { confirm: true } } } })
  expect(stepsOf(turn)[0]?.state).toBe('done')
})

test('a model that only uses tools is stopped, and the person is asked', async () => {
  model = [said(use({ query: 'select 1' }))]
  tool = Array.from({ length: MOST_ROUNDS }, () => done('1'))
  const turn = await answer(newTurn('?', 'p', 'm'), [], [query], around())
  expect(turn.state).toBe('limit')
  expect(toolCalls()).toHaveLength(MOST_ROUNDS)
})

test('a failure of the model keeps the question and says why', async () => {
  vi.stubGlobal('fetch', async () => new Response('{"error":"Overloaded"}', { status: 529, headers: { 'retry-after': '9' } }))
  const turn = await answer(newTurn('?', 'p', 'm'), [], [query], around())
  expect(turn).toMatchObject({ state: 'failed', question: '?', problem: { message: 'Overloaded', retryAfter: 9 } })
})

test('stopping ends the turn', async () => {
  const stop = new AbortController()
  model = [said(use({ query: 'select 1' }))]
  const turn = await answer(newTurn('?', 'p', 'm'), [], [query], around({ signal: stop.signal, show: () => stop.abort() }))
  expect(turn.state).toBe('stopped')
})

test('a conversation that is kept comes back with its steps, and strange activity is left out', async () => {
  model = [said(use({ query: 'select 1' })), said(text('It is 1.'))]
  tool = [done('a\n1')]
  const turn = await answer(newTurn('How many?', 'p', 'm'), [], [query], around())
  const kept = JSON.parse(JSON.stringify(toKeep([turn])))
  const [read] = fromKept(kept)
  expect(read?.parts).toEqual(turn.parts)
  expect(read?.state).toBe('done')
  kept[1].activity = [{ kind: 'step', step: { tool: 1 } }, null, 'x']
  expect(fromKept(kept)[0]?.parts).toEqual([{ kind: 'text', text: 'It is 1.' }])
})
