// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Session } from '../../api/session'
import { place, placeOf } from '../../shell/router'
import { available, session } from '../../shell/session'
import Admin from './admin'

/** Answers of the server by method and path; others are 404. */
let answers: Record<string, { status?: number; body?: unknown }>
let sent: { request: string; body: unknown }[]

const token = { id: 'token-1', note: 'reports', hash_prefix: 'abc', database: 'shop', toolsets: null, created_at: null, expires_at: null, expired: false, last_used_at: null }
const bob = { username: 'bob', note: '', enabled: true, admin: false, databases: [], created_at: null, last_login: null, failed_attempts: 0, sessions: 2 }
const SECRET = 'zig_shown_once'

beforeEach(() => {
  sent = []
  answers = {
    'GET /api/admin/tokens': { body: { tokens: [token] } },
    'GET /api/admin/users': { body: { users: [bob] } },
  }
  vi.stubGlobal('fetch', async (path: string, options: RequestInit = {}) => {
    const request = `${options.method ?? 'GET'} ${path}`
    sent.push({ request, body: options.body ? JSON.parse(String(options.body)) : null })
    const answer = answers[request]
    const status = answer?.status ?? (answer ? 200 : 404)
    return new Response(status === 204 ? null : JSON.stringify(answer?.body ?? { error: 'Not found' }), { status })
  })
  session.value = { signed_in: true, auth: true, kind: 'user', user: 'alice', admin: true } as Session
  available.value = [{ name: 'shop', host: 'h', port: 5432, database: 'd', user: 'u', sslmode: 'disable', allow_writes: false }]
})

afterEach(() => {
  act(() => render(null, document.body))
  vi.unstubAllGlobals()
  session.value = null
  available.value = null
  localStorage.clear()
})

async function open(part: string) {
  history.replaceState(null, '', `/console/admin?db=shop&part=${part}`)
  place.value = placeOf(new URL(location.href))
  act(() => render(<Admin />, document.body))
  await settled()
}

const settled = () => act(async () => void (await new Promise((resolve) => setTimeout(resolve, 5))))
const button = (name: string) => [...document.querySelectorAll('button')].find((one) => (one.getAttribute('aria-label') ?? one.textContent?.trim()) === name) as HTMLButtonElement
const dialog = () => document.querySelector('dialog') as HTMLDialogElement
const type = (label: string, value: string) => {
  const field = [...document.querySelectorAll('dialog label')].find((one) => one.textContent?.trim() === label)
  const input = document.getElementById(field?.getAttribute('for') ?? '') as HTMLInputElement
  input.value = value
  act(() => void input.dispatchEvent(new Event('input', { bubbles: true })))
}
const press = async (name: string) => {
  await act(async () => button(name).click())
  await settled()
}
const submit = async () => {
  await act(async () => void dialog().querySelector('form')?.dispatchEvent(new Event('submit', { bubbles: true, cancelable: true })))
  await settled()
}

test('a new token expires after 90 days if nothing else is chosen, and is shown until a person has it', async () => {
  answers['POST /api/admin/tokens'] = { status: 201, body: { token: SECRET, record: token } }
  await open('tokens')
  await press('New token')
  type('Note', 'nightly')
  await submit()
  expect(sent.find(({ request }) => request === 'POST /api/admin/tokens')?.body).toEqual({ note: 'nightly', database: 'shop', expiry: '90d' })
  expect(dialog().textContent).toContain(SECRET)
  expect(dialog().textContent).toContain(`Authorization: Bearer ${SECRET}`)
  act(() => void dialog().dispatchEvent(new Event('cancel', { cancelable: true })))
  expect(dialog().textContent).toContain(SECRET)
  expect(JSON.stringify({ ...localStorage }) + location.href).not.toContain(SECRET)
  await press('Done')
  expect(document.body.textContent).not.toContain(SECRET)
})

test('a token without a note is not made', async () => {
  await open('tokens')
  await press('New token')
  await submit()
  expect(dialog().textContent).toContain('A note is required.')
  expect(sent.some(({ request }) => request.startsWith('POST'))).toBe(false)
})

test('what the server says against a change stands in its dialog, which stays', async () => {
  answers['DELETE /api/admin/tokens/token-1'] = { status: 404, body: { error: 'No such token', code: 'not_found' } }
  await open('tokens')
  await press('Revoke reports')
  await submit()
  expect(dialog().textContent).toContain('No such token')
  answers['DELETE /api/admin/tokens/token-1'] = { status: 204 }
  await submit()
  expect(dialog()).toBeNull()
})

const chooseAction = async (name: string) => {
  await act(async () => void document.querySelector('[popover]')?.dispatchEvent(Object.assign(new Event('beforetoggle'), { newState: 'open' })))
  await act(async () => [...document.querySelectorAll<HTMLElement>('[role=menuitem]')].find((line) => line.textContent === name)?.click())
}

test('a user is deleted only when its name is typed', async () => {
  answers['DELETE /api/admin/users/bob'] = { status: 204 }
  await open('users')
  await chooseAction('Delete…')
  type('Name', 'bo')
  await submit()
  expect(sent.some(({ request }) => request.startsWith('DELETE'))).toBe(false)
  expect(button('Delete user').disabled).toBe(true)
  type('Name', 'bob')
  await submit()
  expect(sent.some(({ request }) => request === 'DELETE /api/admin/users/bob')).toBe(true)
  expect(dialog()).toBeNull()
})

const boxes = () => [...dialog().querySelectorAll<HTMLLabelElement>('.check')]
const choose = (name: string) => act(async () => boxes().find((box) => box.textContent === name)?.querySelector('input')?.click())
const chosen = () => boxes().filter((box) => box.querySelector('input')?.checked).map((box) => box.textContent)

test('a new user has no databases until some or all are chosen', async () => {
  answers['GET /api/admin/databases'] = { body: { databases: [{ name: 'shop' }, { name: 'books' }] } }
  answers['POST /api/admin/users'] = { status: 201, body: { user: bob, password: null } }
  await open('users')
  await press('New user')
  type('Name', 'carol')
  await submit()
  expect(dialog().textContent).toContain('Choose databases, or all of them.')
  expect(sent.some(({ request }) => request.startsWith('POST'))).toBe(false)
  await choose('All databases')
  expect(chosen()).toEqual(['All databases'])
  await choose('shop')
  expect(chosen()).toEqual(['shop'])
  await choose('shop')
  await submit()
  expect(sent.some(({ request }) => request.startsWith('POST'))).toBe(false)
  await choose('books')
  await submit()
  expect(sent.find(({ request }) => request === 'POST /api/admin/users')?.body).toMatchObject({ databases: ['books'] })
})

test('a password that the server made is shown once, a typed one never', async () => {
  answers['POST /api/admin/users'] = { status: 201, body: { user: bob, password: SECRET } }
  await open('users')
  await press('New user')
  type('Name', 'carol')
  await choose('All databases')
  await submit()
  expect(sent.find(({ request }) => request === 'POST /api/admin/users')?.body).toEqual({ username: 'carol', note: '', databases: [] })
  expect(dialog().textContent).toContain(SECRET)
  await press('Done')
  answers['POST /api/admin/users'] = { status: 201, body: { user: bob, password: null } }
  await press('New user')
  type('Name', 'dave')
  await choose('All databases')
  type('Password', 'a password of many words')
  await submit()
  expect(dialog()).toBeNull()
  expect(document.body.textContent).not.toContain('of many words')
})

test('a part that the server does not have says so', async () => {
  await open('databases')
  expect(document.body.textContent).toContain('This part is not available')
})

test('the grants of a user are shown, and one ends after a question', async () => {
  const grant = { id: 'g1', username: 'bob', client_id: 'dcr_1', client_name: 'Inspector', resource: 'http://x/mcp', scope: 'mcp', databases: ['shop'], created_at: '2026-01-01T00:00:00Z', last_used_at: '2026-01-01T00:00:00Z', expires_at: '2026-02-01T00:00:00Z' }
  const own = { ...grant, id: 'g2', client_id: 'ziggurat-console', client_name: null, databases: null }
  answers['GET /api/admin/grants?username=bob'] = { body: { grants: [grant, own] } }
  answers['DELETE /api/admin/grants/g1'] = { status: 204 }
  await open('users')
  await chooseAction('Grants…')
  await settled()
  expect(dialog().textContent).toContain('Inspector')
  expect(dialog().textContent).toContain('This console')
  await press('End Inspector')
  expect(dialog().textContent).toContain('The tokens of “Inspector” for bob stop working at once.')
  expect(sent.some(({ request }) => request.startsWith('DELETE'))).toBe(false)
  await submit()
  expect(sent.map(({ request }) => request)).toContain('DELETE /api/admin/grants/g1')
  expect(sent.filter(({ request }) => request.startsWith('GET /api/admin/grants'))).toHaveLength(2)
})

test('without the browser sign-in there are no grants, and the dialog says why', async () => {
  answers['GET /api/admin/grants?username=bob'] = { status: 404, body: { error: 'Off', code: 'sign_in_off' } }
  await open('users')
  await chooseAction('Grants…')
  await settled()
  expect(dialog().textContent).toContain('Users do not sign in with browsers here.')
})
