// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Session } from '../api/session'
import { App } from './app'
import { place, placeOf } from './router'
import { askToSignIn, available, session } from './session'

const alice: Session = {
  signed_in: true,
  auth: true,
  kind: 'user',
  user: 'alice',
  admin: false,
  signed_in_at: '2026-01-01T00:00:00Z',
  expires_at: '2026-01-02T00:00:00Z',
  server: { name: 'ziggurat-tools', version: '0.1.0' },
  features: { llm: false, embedding: false, knowledgebase: false, conversations: false, library: false, audit: false },
  limits: { row_limit: 100, max_rows: 1000, max_export_rows: 0 },
}
const shop = { name: 'shop', host: 'h', port: 5432, database: 'd', user: 'u', sslmode: 'disable', allow_writes: false }

/** Answers of the server by method and path; others are 404. */
let answers: Record<string, { status?: number; body: unknown; headers?: Record<string, string> }>

beforeEach(() => {
  answers = {
    'GET /api/databases': { body: { current: 'shop', databases: [shop, { ...shop, name: 'workshop', allow_writes: true }] } },
  }
  vi.stubGlobal('fetch', async (path: string, options: RequestInit = {}) => {
    const answer = answers[`${options.method ?? 'GET'} ${path}`]
    return new Response(JSON.stringify(answer?.body ?? { error: 'Not found' }), { status: answer?.status ?? (answer ? 200 : 404), headers: answer?.headers ?? {} })
  })
  history.replaceState(null, '', '/console/')
  place.value = placeOf(new URL(location.href))
  session.value = null
  available.value = null
})

afterEach(() => {
  act(() => render(null, document.body))
  vi.unstubAllGlobals()
  localStorage.clear()
})

async function shown() {
  act(() => render(<App />, document.body))
  await vi.waitFor(() => expect(session.value).not.toBeNull())
  await act(async () => {})
  return document.body
}

const signedOut = (problem: string | null = null) => ({ body: { signed_in: false, auth: true, server: { name: 'ziggurat-tools' }, problem } })

test('a caller that has not signed in gets the form, and the place it wanted is kept', async () => {
  answers['GET /api/console/session'] = signedOut()
  history.replaceState(null, '', '/console/tools?db=shop#select%201')
  place.value = placeOf(new URL(location.href))
  const body = await shown()
  expect(body.querySelector('input[name=username]')).not.toBeNull()
  expect(body.querySelector('input[name=password]')?.getAttribute('autocomplete')).toBe('current-password')
  expect(location.pathname).toBe('/console/sign-in')
  expect(new URLSearchParams(location.search).get('to')).toBe('/console/tools?db=shop')
  expect(location.hash).toBe('#select%201')
})

test('without HTTPS there is no form, but the reason and the key to set', async () => {
  answers['GET /api/console/session'] = signedOut('https_required')
  const body = await shown()
  expect(body.querySelector('input')).toBeNull()
  expect(body.textContent).toContain('public_url')
})

test('a caller that has signed in gets the frame with the database and what may be done to it', async () => {
  answers['GET /api/console/session'] = { body: alice }
  const body = await shown()
  expect(body.querySelector('nav[aria-label=Screens]')).not.toBeNull()
  expect(body.querySelector('.database')?.getAttribute('aria-label')).toBe('Database: shop')
  expect(body.textContent).toContain('read only')
  expect(new URLSearchParams(location.search).get('db')).toBe('shop')
  expect(body.textContent).not.toContain('Authentication is off')
})

test('without authentication a banner says that all programs can query', async () => {
  answers['GET /api/console/session'] = { body: { ...alice, signed_in: false, auth: false, kind: 'open', user: null } }
  expect((await shown()).textContent).toContain('Authentication is off')
})

test('Admin is in the menu of administrators; for others its address says who may open it', async () => {
  answers['GET /api/console/session'] = { body: alice }
  history.replaceState(null, '', '/console/admin?db=shop')
  place.value = placeOf(new URL(location.href))
  const body = await shown()
  expect(body.querySelector('main')?.textContent).toContain('Administrators only')
  const menu = () => [...body.querySelectorAll('nav a')].map((link) => link.textContent)
  expect(menu()).toContain('Activity')
  expect(menu()).not.toContain('Admin')
  act(() => {
    session.value = { ...alice, admin: true }
  })
  expect(menu()).toContain('Admin')
})

test('the dialog that asks for a recent sign-in says what is done then, and closing it does nothing', async () => {
  answers['GET /api/console/session'] = { body: { ...alice, admin: true } }
  const body = await shown()
  const asked = askToSignIn('The user bob is deleted.')
  await act(async () => {})
  const dialog = body.querySelector('dialog')
  expect(dialog?.textContent).toContain('The user bob is deleted.')
  expect(dialog?.querySelector<HTMLInputElement>('input[name=username]')?.value).toBe('alice')
  expect(dialog?.textContent).not.toContain('API token')
  await act(async () => dialog?.querySelector<HTMLButtonElement>('[aria-label=Close]')?.click())
  expect(await asked).toBe(false)
  expect(body.querySelector('dialog')).toBeNull()
})
