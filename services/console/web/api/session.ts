import { call } from './client'
import { HEADER } from './key'
import { problemOf } from './problem'

/** The caller of this browser, as the server knows it. */
export interface Session {
  signed_in: boolean
  /** Is false if the server needs no sign-in. */
  auth: boolean
  /** Is true if this page can go on to the browser sign-in; else absent. */
  browser_sign_in?: true
  kind: 'user' | 'token' | 'client' | 'open' | null
  user: string | null
  admin: boolean
  signed_in_at: string | null
  expires_at: string | null
  server: { name: string; version: string }
  features: {
    llm: boolean
    embedding: boolean
    knowledgebase: boolean
    conversations: boolean
    library: boolean
    audit: boolean
    /** Is true if answers can have receipts; else absent. */
    receipts?: true
  }
  limits: { row_limit: number; max_rows: number; max_export_rows: number }
}

/** The answer to a caller that has not signed in. */
export interface SignedOut {
  signed_in: false
  auth: boolean
  /** Is true if this page can go on to the browser sign-in; else absent. */
  browser_sign_in?: true
  server: { name: string }
  /** Reason why signing in is not possible here. */
  problem: 'https_required' | 'public_url_missing' | null
}

/** The code that this browser came back with from the browser sign-in. */
export interface BrowserCode {
  code: string
  verifier: string
  redirect_uri: string
}

export type Credentials = { username: string; password: string } | { token: string } | BrowserCode

/** Asks the server who the caller of this browser is. Never opens a dialog. */
export function currentSession(): Promise<Session | SignedOut> {
  return call('/api/console/session')
}

/** Signs in. The server sets its half of the session as a cookie and returns the other one as `key`. */
export async function signIn(credentials: Credentials): Promise<Session & { key: string }> {
  const response = await fetch('/api/console/session', {
    method: 'POST',
    headers: { [HEADER]: '', 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify(credentials),
    cache: 'no-store',
    redirect: 'error',
  })
  if (!response.ok) throw await problemOf(response)
  return response.json()
}

/** Ends the session at the server. */
export function signOut(): Promise<void> {
  return call('/api/console/session', { method: 'DELETE' })
}
