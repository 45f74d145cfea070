import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { items, type LibraryItem, type LibraryKind, PAGE } from '../api/library'
import { stopped } from '../api/problem'
import type { Session } from '../api/session'
import { isIn, session } from './session'

const CHANNEL = 'ziggurat-console-library'

/** Milliseconds after which words that are typed are looked up. */
const TYPING = 200

/** Grows when an item was changed here or in another tab. */
export const libraryChanges = signal(0)

const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(CHANNEL) : null
if (channel) {
  channel.onmessage = () => {
    libraryChanges.value += 1
  }
}

/** Tells all tabs of this browser that an item was changed. */
export function announceChange(): void {
  libraryChanges.value += 1
  channel?.postMessage('changed')
}

/** Tells if the server keeps queries and prompts of a caller: those of users, not of tokens. */
export const keepsLibrary = (caller: Session): boolean => caller.features.library && caller.kind === 'user'

/** Tells if the person may change an item: its owner and administrators may. */
export function mayChange({ owner }: LibraryItem): boolean {
  const caller = session.value
  return isIn(caller) && (caller.admin || caller.user === owner)
}

/** Items of the library as far as they are known. A failed refresh keeps what was known before. */
export interface LibraryState {
  items: readonly LibraryItem[] | null
  /** Is true if there are more than are listed. */
  more: boolean
  problem: unknown
}

/** Lists the items with these words, and follows changes of this and other tabs. */
export function useItems(kind: LibraryKind, words = ''): LibraryState & { again: () => void; stop: () => void } {
  const [state, setState] = useState<LibraryState>({ items: null, more: false, problem: null })
  const [tries, setTries] = useState(0)
  const changes = libraryChanges.value
  const running = useRef(new AbortController())
  useEffect(() => {
    const own = new AbortController()
    running.current = own
    const load = () =>
      items(kind, words, 0, own.signal).then(
        (found) => own.signal.aborted || setState({ items: found, more: found.length === PAGE, problem: null }),
        (problem: unknown) => own.signal.aborted || setState((before) => ({ ...before, problem })),
      )
    const timer = setTimeout(load, words ? TYPING : 0)
    return () => {
      clearTimeout(timer)
      own.abort()
    }
  }, [kind, words, changes, tries])
  const stop = () => {
    running.current.abort()
    setState((before) => ({ ...before, problem: stopped() }))
  }
  return { ...state, again: () => setTries(tries + 1), stop }
}
