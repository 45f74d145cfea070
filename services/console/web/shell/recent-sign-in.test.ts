import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Problem } from '../api/problem'
import type { Session } from '../api/session'
import { withRecentSignIn } from './recent-sign-in'
import { declineToSignIn, over, session } from './session'

const stale = () => {
  throw new Problem(403, 'Sign in again to do this', 'sign_in_again')
}

beforeEach(() => {
  session.value = { signed_in: true, auth: true, kind: 'user', user: 'alice' } as Session
})

afterEach(() => {
  over.value = null
  session.value = null
})

const signIn = () => {
  const asked = over.value
  over.value = null
  asked?.resolve(true)
}

test('a change that the server makes at once asks for nothing', async () => {
  expect(await withRecentSignIn('It is done.', async () => 7)).toBe(7)
  expect(over.value).toBeNull()
})

test('a sign-in that is too old is asked for with what is done then, and the change is made once more', async () => {
  const change = vi.fn<() => Promise<string>>().mockImplementationOnce(stale).mockResolvedValueOnce('made')
  const done = withRecentSignIn('The user bob is deleted.', change)
  await vi.waitFor(() => expect(over.value?.action).toBe('The user bob is deleted.'))
  expect(change).toHaveBeenCalledTimes(1)
  signIn()
  expect(await done).toBe('made')
  expect(change).toHaveBeenCalledTimes(2)
})

test('leaving the dialog makes no change', async () => {
  const change = vi.fn<() => Promise<string>>().mockImplementation(stale)
  const done = withRecentSignIn('It is done.', change)
  await vi.waitFor(() => expect(over.value).not.toBeNull())
  declineToSignIn()
  await expect(done).rejects.toMatchObject({ name: 'AbortError' })
  expect(change).toHaveBeenCalledTimes(1)
})

test('a server that is never content is asked twice at most', async () => {
  const change = vi.fn<() => Promise<string>>().mockImplementation(stale)
  const done = withRecentSignIn('It is done.', change)
  await vi.waitFor(() => expect(over.value).not.toBeNull())
  signIn()
  await expect(done).rejects.toMatchObject({ code: 'sign_in_again' })
  expect(change).toHaveBeenCalledTimes(2)
})

test('other refusals are reported as they are', async () => {
  const refused = withRecentSignIn('It is done.', () => Promise.reject(new Problem(403, 'Administrators only', 'not_admin')))
  await expect(refused).rejects.toMatchObject({ code: 'not_admin' })
  expect(over.value).toBeNull()
})
