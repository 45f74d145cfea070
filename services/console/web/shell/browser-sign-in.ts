import type { BrowserCode } from '../api/session'
import { signIn as text } from '../text/sign-in'
import { BASE, startAt } from './router'

const CLIENT = 'ziggurat-console'

const KEY = 'ziggurat-console-browser-sign-in'

/** A sign-in that this tab has begun. The server never sees the verifier before the code comes back. */
interface Begun {
  state: string
  verifier: string
  /** Address of the tab when it left. The text behind `#` stays in the browser. */
  from: string
}

/** The answer of the browser sign-in: a code to sign in with, or the sentence that says why there is none. */
export type Returned = { code: BrowserCode } | { problem: string }

/** Leaves for the browser sign-in. `again` asks for a new sign-in although there is a session there. */
export async function continueInBrowser(again: boolean): Promise<void> {
  const begun: Begun = { state: random(), verifier: random(), from: location.pathname + location.search + location.hash }
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: CLIENT,
    redirect_uri: redirectAddress(),
    code_challenge: await challengeOf(begun.verifier),
    code_challenge_method: 'S256',
    state: begun.state,
  })
  if (again) query.set('prompt', 'login')
  sessionStorage.setItem(KEY, JSON.stringify(begun))
  location.assign(`/oauth/authorize?${query}`)
}

/**
 * Takes the answer of the browser sign-in out of the address, and puts back the one that the tab left. Without
 * an answer it is null. A code that this tab did not ask for is never used: another person may have put it there.
 */
export function takeReturned(): Returned | null {
  const { pathname, searchParams: query } = new URL(location.href)
  if (pathname !== PAGE || !query.has('state') || !(query.has('code') || query.has('error'))) return null
  const begun = takeBegun()
  startAt(begun && isOwn(begun.from) ? begun.from : PAGE)
  if (!begun || query.get('state') !== begun.state || query.get('iss') !== location.origin) return { problem: text.notBegunHere }
  const code = query.get('code')
  if (code === null) return { problem: text.browserRefused }
  return { code: { code, verifier: begun.verifier, redirect_uri: redirectAddress() } }
}

/** Returns the challenge of a verifier (RFC 7636). */
export async function challengeOf(verifier: string): Promise<string> {
  return base64url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)))
}

const PAGE = `${BASE}sign-in`

const redirectAddress = (): string => location.origin + PAGE

const isOwn = (address: string): boolean => {
  const url = new URL(address, location.origin)
  return url.origin === location.origin && url.pathname.startsWith(BASE)
}

function takeBegun(): Begun | null {
  try {
    const kept = sessionStorage.getItem(KEY)
    sessionStorage.removeItem(KEY)
    return kept ? JSON.parse(kept) : null
  } catch {
    return null
  }
}

const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)).buffer)

function base64url(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
