// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { call, onSessionOver } from './client'
import { connection, tryNow } from './connection'
import { keepKey } from './key'
import { Problem } from './problem'

type Sent = { path: string; options: RequestInit }
let sent: Sent[]
let replies: (() => Response | Promise<Response>)[]

beforeEach(() => {
  sent = []
  replies = []
  keepKey('half')
  vi.stubGlobal('fetch', async (path: string, options: RequestInit) => {
    sent.push({ path, options })
    const reply = replies.shift()
    if (!reply) throw new Error(`no answer for ${path}`)
    return reply()
  })
})

afterEach(() => {
  onSessionOver(async () => false)
  vi.unstubAllGlobals()
  localStorage.clear()
})

const json = (body: unknown, status = 200, headers = {}) => () => new Response(JSON.stringify(body), { status, headers })
const gone = () => {
  throw new TypeError('failed to fetch')
}

test('a request carries the key of the session, and reads the answer', async () => {
  replies = [json({ a: 1 })]
  expect(await call('/api/x', { body: { b: 2 } })).toEqual({ a: 1 })
  const [{ options } = { options: {} }] = sent
  expect(options).toMatchObject({ method: 'POST', body: '{"b":2}', headers: { 'Ziggurat-Console': 'half', 'Content-Type': 'application/json' } })
})

test('a refusal has the sentence, the code, the id of the request and the seconds to wait', async () => {
  replies = [json({ error: 'Too many.', code: 'busy' }, 429, { 'x-request-id': 'r1', 'retry-after': '7' })]
  await expect(call('/api/x')).rejects.toMatchObject({ status: 429, message: 'Too many.', code: 'busy', requestId: 'r1', retryAfter: 7, canRetry: true })
})

test('an error of JSON-RPC is a sentence as well', async () => {
  replies = [json({ jsonrpc: '2.0', error: { code: -32602, message: 'Unknown database: x' } }, 400)]
  await expect(call('/mcp')).rejects.toThrow('Unknown database: x')
})

test('a session that has ended is renewed, and the request is sent again with the new key', async () => {
  replies = [json({ error: 'Unauthorized' }, 401), json({ a: 1 })]
  onSessionOver(async () => {
    keepKey('new')
    return true
  })
  expect(await call('/api/x', { body: {} })).toEqual({ a: 1 })
  expect(sent.map(({ options }) => (options.headers as Record<string, string>)['Ziggurat-Console'])).toEqual(['half', 'new'])
})

test('without a new session the refusal is reported', async () => {
  replies = [json({ error: 'Unauthorized' }, 401)]
  await expect(call('/api/x')).rejects.toMatchObject({ status: 401 })
})

test('a request that reads is repeated when the server is back, one that changes is not', async () => {
  vi.useFakeTimers()
  try {
    replies = [gone, gone, json({ status: 'ok' }), json({ a: 1 })]
    const reading = call('/api/x')
    await vi.advanceTimersByTimeAsync(500)
    expect(connection.value.since).not.toBeNull()
    await vi.advanceTimersByTimeAsync(3000)
    expect(await reading).toEqual({ a: 1 })
    expect(sent.map(({ path }) => path)).toEqual(['/api/x', '/health', '/health', '/api/x'])
    expect(connection.value.since).toBeNull()

    replies = [gone, json({ status: 'ok' })]
    await expect(call('/api/x', { body: {} })).rejects.toMatchObject({ code: 'gone' })
    tryNow()
    await vi.advanceTimersByTimeAsync(10)
    expect(connection.value.since).toBeNull()
  } finally {
    vi.useRealTimers()
  }
})

test('an answer that breaks off is no answer', async () => {
  replies = [() => new Response('{"a":', { status: 200 })]
  await expect(call('/api/x')).rejects.toBeInstanceOf(Problem)
})
