// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { useActivity } from './watch'

let asked: string[]
let shown: ReturnType<typeof useActivity>
let reply: () => Response

const Probe = ({ isHeld }: { isHeld: boolean }) => {
  shown = useActivity('own', isHeld)
  return null
}
const show = (isHeld = false) => act(() => render(<Probe isHeld={isHeld} />, document.body))
const pass = (milliseconds: number) => act(async () => void (await vi.advanceTimersByTimeAsync(milliseconds)))
const see = (state: string) => {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}

beforeEach(() => {
  vi.useFakeTimers()
  asked = []
  reply = () => new Response('{"replica":"tools-1","running":[],"finished":[],"latency":[],"connections":[]}')
  vi.stubGlobal('fetch', async (path: string) => {
    asked.push(path)
    return reply()
  })
  see('visible')
})

afterEach(() => {
  act(() => render(null, document.body))
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('the server is asked at once and every 2 s, but not while the page is hidden', async () => {
  show()
  await pass(1)
  expect(asked).toEqual(['/api/activity?scope=own'])
  await pass(4000)
  expect(asked.length).toBe(3)
  act(() => see('hidden'))
  await pass(60_000)
  expect(asked.length).toBe(3)
  act(() => see('visible'))
  await pass(1)
  expect(asked.length).toBe(4)
})

test('held still nothing is asked, and what was shown stays', async () => {
  show()
  await pass(1)
  show(true)
  await pass(10_000)
  expect(asked.length).toBe(1)
  expect(shown.snapshot).not.toBeNull()
})

test('a refusal ends the asking, a busy server does not', async () => {
  reply = () => new Response('{"error":"Busy","code":"busy"}', { status: 503 })
  show()
  await pass(2001)
  expect(asked.length).toBe(2)
  expect(shown.problem).toBeNull()
  reply = () => new Response('{"error":"Administrators only","code":"not_admin"}', { status: 403 })
  await pass(10_000)
  expect(asked.length).toBe(3)
  expect(shown.problem).toMatchObject({ code: 'not_admin' })
})
