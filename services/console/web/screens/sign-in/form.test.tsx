// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SignInForm } from './form'

let reply: () => Response

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('fetch', async () => reply())
  act(() => render(<SignInForm />, document.body))
})

afterEach(() => {
  act(() => render(null, document.body))
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const field = (name: string) => document.querySelector<HTMLInputElement>(`input[name=${name}]`) as HTMLInputElement
const submit = () => document.querySelector<HTMLButtonElement>('button[type=submit]') as HTMLButtonElement

async function send() {
  for (const [name, value] of [
    ['username', 'alice'],
    ['password', 'wrong'],
  ] as const) {
    field(name).value = value
    act(() => void field(name).dispatchEvent(new Event('input', { bubbles: true })))
  }
  await act(async () => {
    submit().click()
    await vi.advanceTimersByTimeAsync(1)
  })
}

// Timers that begin in an effect need a render between them.
async function pass(milliseconds: number) {
  for (let left = milliseconds; left > 0; left -= 50) {
    await act(async () => {
      await vi.advanceTimersByTimeAsync(50)
    })
  }
}

const refuse = (status: number, code: string, headers = {}) => () => new Response(JSON.stringify({ error: 'Too many failed attempts', code }), { status, headers })

test('too many attempts are said with the seconds to wait, which count down', async () => {
  reply = refuse(429, 'too_many_attempts', { 'retry-after': '3' })
  await send()
  expect(document.body.textContent).toContain('Too many failed attempts')
  expect(document.body.textContent).toContain('Try again in 3 seconds.')
  expect(submit().disabled).toBe(true)
  await pass(2100)
  expect(document.body.textContent).toContain('Try again in 1 second.')
  await pass(1100)
  expect(submit().disabled).toBe(false)
})

test('a refused password is forgotten, the name stays, and the focus is on the message', async () => {
  reply = refuse(401, 'bad_credentials')
  await send()
  expect(field('username').value).toBe('alice')
  expect(field('password').value).toBe('')
  expect(document.activeElement?.textContent).toContain('Too many')
  expect(document.querySelector('[role=alert]')?.textContent).toContain('Too many')
})

test('an account that needs the browser sign-in is told so, and gets the way there', async () => {
  reply = refuse(403, 'use_browser_sign_in')
  await send()
  expect(document.body.textContent).toContain('Open the console at the public address')
  expect(document.body.textContent).not.toContain('Continue in the browser sign-in')
  act(() => render(null, document.body))
  act(() => render(<SignInForm browser />, document.body))
  await send()
  expect(document.querySelector('[role=alert]')?.textContent).toBe('This account signs in with the browser sign-in.')
  expect(document.body.textContent).toContain('Continue in the browser sign-in')
})

test('nothing is sent without a password', async () => {
  reply = () => {
    throw new Error('sent')
  }
  await act(async () => submit().click())
  expect(document.activeElement?.textContent).toBe('Enter a name and a password.')
})
