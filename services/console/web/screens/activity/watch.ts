import { useEffect, useState } from 'preact/hooks'
import { type Activity, activity, type Scope } from '../../api/activity'
import { Problem, wasStopped } from '../../api/problem'

/** Milliseconds between two questions. */
const EVERY = 2000

/** The last answer of the server with the time of this browser at which it came. */
export interface Snapshot {
  told: Activity
  at: number
}

/** Asks the server again and again while the page is visible, unless it is held. */
export function useActivity(scope: Scope, isHeld: boolean): { snapshot: Snapshot | null; problem: unknown; again: () => void } {
  const [snapshot, setSnapshot] = useState<Snapshot | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    if (isHeld) return
    const stop = new AbortController()
    void watch(scope, stop.signal, (told) => {
      setSnapshot({ told, at: performance.now() })
      setProblem(null)
    }).catch((failure: unknown) => wasStopped(failure) || setProblem(failure))
    return () => stop.abort()
  }, [scope, isHeld, attempt])
  return { snapshot, problem, again: () => setAttempt(attempt + 1) }
}

async function watch(scope: Scope, stop: AbortSignal, show: (told: Activity) => void): Promise<never> {
  for (;;) {
    await visible(stop)
    try {
      show(await activity(scope, stop))
    } catch (failure) {
      // A server that is busy answers the next question; one that refuses does not.
      if (!(failure instanceof Problem) || !failure.canRetry) throw failure
    }
    await pause(EVERY, stop)
  }
}

const stopped = () => new DOMException('stopped', 'AbortError')

/** Resolves when a person can see the page. */
function visible(stop: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (document.visibilityState === 'visible') return resolve()
    const end = () => document.removeEventListener('visibilitychange', look)
    const look = () => {
      if (document.visibilityState !== 'visible') return
      end()
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    stop.addEventListener('abort', () => {
      end()
      reject(stopped())
    })
  })
}

function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (stop.aborted) return reject(stopped())
    const end = () => {
      clearTimeout(timer)
      reject(stopped())
    }
    const timer = setTimeout(() => {
      stop.removeEventListener('abort', end)
      resolve()
    }, milliseconds)
    stop.addEventListener('abort', end, { once: true })
  })
}
