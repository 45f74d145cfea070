/** Header with the half of the session that script can read. The other half is a cookie. */
export const HEADER = 'Ziggurat-Console'

const KEY = 'ziggurat-console-key'

/** Returns this browser's half of the session; empty when signed out. */
export function key(): string {
  try {
    return localStorage.getItem(KEY) ?? ''
  } catch {
    return ''
  }
}

/** Keeps the half of a new session. Other tabs learn of it. */
export function keepKey(value: string): void {
  localStorage.setItem(KEY, value)
}

/** Forgets the session in this browser. Other tabs learn of it. */
export function forgetKey(): void {
  localStorage.removeItem(KEY)
}

/** Calls back when another tab has signed in or out. */
export function onKeyOfOtherTab(follow: (key: string) => void): void {
  addEventListener('storage', (event) => {
    if (event.key === KEY || event.key === null) follow(key())
  })
}
