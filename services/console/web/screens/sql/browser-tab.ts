/** Tells the tabs of a browser apart, so that each has its own drafts. */

const KEY = 'ziggurat-console-tab'
const LOCK = 'ziggurat-console-tab-'

/** Milliseconds that a page before a reload may take to let its lock go. */
const PATIENCE = 500

let claimed: Promise<string> | null = null

/** Returns the id of this tab. It outlasts a reload; a copy of the tab gets another one. */
export function thisTab(): Promise<string> {
  claimed ??= claim()
  return claimed
}

async function claim(): Promise<string> {
  const before = sessionStorage.getItem(KEY)
  if (before && (await hold(before))) return before
  const id = crypto.randomUUID()
  sessionStorage.setItem(KEY, id)
  await hold(id)
  return id
}

/** Holds the lock of an id until the page goes. A browser without locks takes every id for free. */
async function hold(id: string): Promise<boolean> {
  if (!navigator.locks) return true
  return new Promise((resolve) => {
    const held = navigator.locks.request(LOCK + id, { signal: AbortSignal.timeout(PATIENCE) }, () => {
      resolve(true)
      return new Promise<never>(() => {})
    })
    held.catch(() => resolve(false))
  })
}

/** Returns the ids of the tabs that are open now. */
export async function openTabs(): Promise<ReadonlySet<string>> {
  if (!navigator.locks) return new Set()
  const { held = [] } = await navigator.locks.query()
  return new Set(held.flatMap(({ name }) => (name?.startsWith(LOCK) ? [name.slice(LOCK.length)] : [])))
}
