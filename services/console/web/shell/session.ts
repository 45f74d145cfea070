import { signal } from '@preact/signals'
import { onSessionOver } from '../api/client'
import { databases, type Database } from '../api/databases'
import { forgetKey, keepKey, onKeyOfOtherTab } from '../api/key'
import { type BrowserCode, type Credentials, currentSession, type Session, type SignedOut, signIn, signOut } from '../api/session'
import { takeReturned } from './browser-sign-in'
import { forgetDrafts } from './drafts'
import { addressOf, BASE, database, place, replace, startAt } from './router'

/** The caller of this tab: unknown at first, then signed out or signed in. */
export const session = signal<Session | SignedOut | null>(null)

/** Failure of the browser sign-in that this tab came back from. */
export const browserProblem = signal<unknown>(null)

/** Failure of the first request for the session, in the server's words. */
export const sessionProblem = signal<unknown>(null)

/** Databases that the caller may use; null until they are known. */
export const available = signal<Database[] | null>(null)

/**
 * Is set while a dialog over the work asks to sign in: because the session is over, or because `action`
 * needs a recent sign-in.
 */
export const over = signal<{ action: string | null; resolve: (again: boolean) => void } | null>(null)

/** Is true for callers that may use the screens. */
export const isIn = (value: Session | SignedOut | null): value is Session => value !== null && (value.signed_in || !value.auth)

/** Database of this tab, with what may be done to it. */
export const currentDatabase = (): Database | undefined => available.value?.find(({ name }) => name === database.value)

/** Asks the server who the caller is, and for its databases. */
export async function startSession(): Promise<void> {
  sessionProblem.value = null
  const returned = takeReturned()
  if (returned && 'problem' in returned) browserProblem.value = returned.problem
  try {
    if (returned && 'code' in returned && (await enteredWith(returned.code))) return
    const found = await currentSession()
    if (isIn(found)) await loadDatabases()
    else toSignIn()
    session.value = found
  } catch (problem) {
    sessionProblem.value = problem
  }
}

async function enteredWith(code: BrowserCode): Promise<boolean> {
  try {
    await enter(code)
    return true
  } catch (problem) {
    browserProblem.value = problem
    return false
  }
}

async function loadDatabases(): Promise<void> {
  const { databases: list, current } = await databases()
  available.value = list
  if (database.value) return
  const first = list.find(({ name }) => name === current) ?? list[0]
  if (first) replace({ query: { db: first.name } })
}

/** Signs in, and goes where the person was going. */
export async function enter(credentials: Credentials): Promise<void> {
  const { key: half, ...found } = await signIn(credentials)
  keepKey(half)
  browserProblem.value = null
  const again = over.peek()
  if (again) {
    const before = session.peek()
    // The work on this page belongs to the person who began it.
    if (isIn(before) && before.user !== found.user) return location.reload()
    session.value = found
    over.value = null
    again.resolve(true)
    return
  }
  await loadDatabases()
  if (place.peek().screen === SIGN_IN) startAt(wayBack())
  if (!database.value) await loadDatabases()
  session.value = found
}

/** Signs out in all tabs of this browser and deletes what it keeps of the person. */
export async function leave(): Promise<void> {
  await signOut().catch(() => {})
  forgetKey()
  await forgetDrafts()
  afterLeaving()
}

// A reload takes all that screens hold in memory of the person who has left.
function afterLeaving(): void {
  over.value?.resolve(false)
  toSignIn()
  location.reload()
}

const SIGN_IN = 'sign-in'

// The text behind `#` stays behind `#`: it may be SQL, which no server may see.
function toSignIn(): void {
  if (place.value.screen === SIGN_IN) return
  const { pathname, search } = new URL(addressOf(place.value, { hash: '' }), location.origin)
  const to = pathname === BASE ? null : pathname + search
  replace({ screen: SIGN_IN, query: { to, db: null }, hash: place.value.hash })
}

function wayBack(): string {
  const to = place.value.query.get('to')
  const hash = place.value.hash ? `#${encodeURIComponent(place.value.hash)}` : ''
  if (!to) return BASE
  const url = new URL(to, location.origin)
  const safe = url.origin === location.origin && url.pathname.startsWith(BASE)
  return safe ? url.pathname + url.search + hash : BASE
}

/** Leaves the page from the dialog *Session over*. */
export function giveUp(): void {
  forgetKey()
  afterLeaving()
}

let asking: Promise<boolean> | null = null

/** Asks the person to sign in over the work. One dialog is for all that wait for it. */
export function askToSignIn(action: string | null): Promise<boolean> {
  if (!isIn(session.peek())) return Promise.resolve(false)
  asking ??= new Promise<boolean>((resolve) => {
    over.value = { action, resolve }
  }).finally(() => {
    asking = null
  })
  return asking
}

/** Closes the dialog that asks for a recent sign-in; nothing is done then. */
export function declineToSignIn(): void {
  over.value?.resolve(false)
  over.value = null
}

/** Lets requests ask for a new session, and follows other tabs. */
export function watchSession(): void {
  onSessionOver(() => askToSignIn(null))
  onKeyOfOtherTab((half) => {
    if (half && over.value?.action === null) {
      over.value.resolve(true)
      over.value = null
    } else if (half !== '' && !isIn(session.peek())) {
      location.reload()
    } else if (half === '' && isIn(session.peek()) && session.peek()?.auth) {
      afterLeaving()
    }
  })
}

