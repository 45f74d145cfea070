// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest'
import { challengeOf, continueInBrowser, takeReturned } from './browser-sign-in'
import { place, startAt } from './router'

const ORIGIN = location.origin

beforeEach(() => {
  sessionStorage.clear()
  startAt('/console/sign-in')
})

/** Leaves for the sign-in, and returns the request. */
async function left(from: string, again = false): Promise<URL> {
  startAt(from)
  const assign = vi.spyOn(location, 'assign').mockImplementation(() => {})
  await continueInBrowser(again)
  const address = assign.mock.calls[0]?.[0] as string
  assign.mockRestore()
  return new URL(address, ORIGIN)
}

/** Comes back with these members of the query. */
function comeBack(query: Record<string, string>) {
  startAt(`/console/sign-in?${new URLSearchParams(query)}`)
  return takeReturned()
}

test('the challenge is the one of the example in RFC 7636', async () => {
  expect(await challengeOf('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
})

test('a code is used with the verifier of its request, and the place of the tab is back', async () => {
  const asked = await left('/console/sql?db=shop#select%201')
  expect(asked.pathname).toBe('/oauth/authorize')
  const query = asked.searchParams
  expect(query.get('client_id')).toBe('ziggurat-console')
  expect(query.get('redirect_uri')).toBe(`${ORIGIN}/console/sign-in`)
  expect(query.get('prompt')).toBeNull()
  expect(asked.href).not.toContain('select')
  const returned = comeBack({ code: 'zac_1', state: query.get('state') ?? '', iss: ORIGIN })
  if (!returned || !('code' in returned)) throw new Error('a code')
  expect(returned.code.code).toBe('zac_1')
  expect(returned.code.redirect_uri).toBe(`${ORIGIN}/console/sign-in`)
  expect(await challengeOf(returned.code.verifier)).toBe(query.get('code_challenge'))
  expect(place.value.screen).toBe('sql')
  expect(place.value.hash).toBe('select 1')
  expect(location.href).not.toContain('zac_1')
  expect(sessionStorage.length).toBe(0)
})

test('a new sign-in is asked for where a recent one is needed', async () => {
  const asked = await left('/console/admin', true)
  expect(asked.searchParams.get('prompt')).toBe('login')
})

test('a code that this tab did not ask for is not used', async () => {
  const foreign = { code: 'zac_of_another_person', state: 'x', iss: ORIGIN }
  expect(comeBack(foreign)).toHaveProperty('problem')
  const asked = await left('/console/sign-in')
  expect(comeBack(foreign)).toHaveProperty('problem')
  const state = asked.searchParams.get('state') ?? ''
  expect(comeBack({ ...foreign, state })).toHaveProperty('problem') // the state is good once
  const other = await left('/console/sign-in')
  const mixedUp = { ...foreign, state: other.searchParams.get('state') ?? '', iss: 'https://evil.example' }
  expect(comeBack(mixedUp)).toHaveProperty('problem')
  expect(location.search).toBe('')
})

test('a refusal is said', async () => {
  const asked = await left('/console/sign-in')
  const returned = comeBack({ error: 'access_denied', state: asked.searchParams.get('state') ?? '', iss: ORIGIN })
  expect(returned).toEqual({ problem: 'The browser sign-in was refused. Start it again.' })
})

test('without an answer the address stays', () => {
  startAt('/console/sign-in?to=%2Fconsole%2Fsql')
  expect(takeReturned()).toBeNull()
  expect(location.search).toBe('?to=%2Fconsole%2Fsql')
})
