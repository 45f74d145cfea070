// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Running } from '../../api/activity'
import { Toasts } from '../../parts/toast'
import type { Line } from './board'
import { RunningList } from './running-list'

const statement: Running = {
  id: 'a/1',
  caller: { kind: 'user', name: 'alice' },
  via: 'rest',
  tool: '/api/query',
  database: 'shop',
  statement: 'select\n  pg_sleep(60)',
  started_at: '2026-11-26T12:00:00Z',
  ms: 100,
  rows: 0,
  bytes: 0,
  state: 'running',
}
const use = { onPointerEnter: () => {}, onPointerLeave: () => {}, onFocusIn: () => {}, onFocusOut: () => {} }
let sent: string[]
let reply: () => Response

beforeEach(() => {
  sent = []
  reply = () => new Response('{"cancelling":true}', { status: 202 })
  vi.stubGlobal('fetch', async (path: string, options: RequestInit) => {
    sent.push(`${options.method} ${path}`)
    return reply()
  })
})

afterEach(() => {
  act(() => render(null, document.body))
  vi.unstubAllGlobals()
})

const show = (line: Partial<Line> = {}) =>
  act(() =>
    render(
      <>
        <RunningList lines={[{ statement, at: 0, ended: null, ...line }]} scope="all" use={use} />
        <Toasts />
      </>,
      document.body,
    ),
  )
const button = () => document.querySelector('.statement button') as HTMLButtonElement
const press = () =>
  act(async () => {
    button().click()
    await new Promise((resolve) => setTimeout(resolve, 5))
  })

test('the statement stands on one line and unfolds to its text', () => {
  show()
  expect(document.querySelector('summary')?.textContent).toBe('Statement: select pg_sleep(60)')
  expect(document.querySelector('pre')?.textContent).toBe('select\n  pg_sleep(60)')
})

test('Cancel asks once, and says what happens', async () => {
  show()
  await press()
  await press()
  expect(sent).toEqual(['POST /api/activity/a%2F1/cancel'])
  expect(document.querySelector('.statement-state')?.textContent).toBe('cancelling')
  expect(document.querySelector('.toasts')?.textContent).toContain('alice gets an error')
})

test('a statement that has ended meanwhile is no failure', async () => {
  reply = () => new Response('{"error":"No such statement","code":"no_such_statement"}', { status: 404 })
  show()
  await press()
  expect(document.querySelector('.toasts')?.textContent).toContain('has already finished')
})

test('a refusal is said, and Cancel can be pressed again', async () => {
  reply = () => new Response('{"error":"Busy","code":"busy"}', { status: 503 })
  show()
  await press()
  expect(document.querySelector('.toasts')?.textContent).toContain('Busy')
  await press()
  expect(sent.length).toBe(2)
})

test('a line that has ended keeps its button, which does nothing, so that the focus stays', async () => {
  show({ ended: { ...statement, ms: 300, outcome: 'cancelled', code: '57014' } })
  expect(document.querySelector('.statement-state')?.textContent).toBe('cancelled 57014')
  expect(button().getAttribute('aria-disabled')).toBe('true')
  await press()
  expect(sent).toEqual([])
})
