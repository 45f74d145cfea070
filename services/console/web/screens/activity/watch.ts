import { useEffect, useRef, useState } from 'preact/hooks'
import { type Activity, activity, type Scope } from '../../api/activity'
import { Problem, stopped, wasStopped } from '../../api/problem'

/** Milliseconds between two questions. */
const EVERY = 2000

/** The last answer of the server with the time of this browser at which it came. */
export interface Snapshot {
  told: Activity
  at: number
}

/** Asks the server again and again while the page is visible, unless it is held. */
export function useActivity(scope: Scope, isHeld: boolean): { snapshot: Snapshot | null; problem: unknown; again: () => void; stop: () => void } {
  const [snapshot, setSnapshot] = useState<Snapshot | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  const running = useRef(new AbortController())
  useEffect(() => {
    if (isHeld) return
    const own = new AbortController()
    running.current = own
    setProblem(null)
    void watch(scope, own.signal, (told) => {
      setSnapshot({ told, at: performance.now() })
      setProblem(null)
    }).catch((failure: unknown) => wasStopped(failure) || setProblem(failure))
    return () => own.abort()
  }, [scope, isHeld, attempt])
  const stop = () => {
    running.current.abort()
    setProblem(stopped())
  }
  return { snapshot, problem, again: () => setAttempt(attempt + 1), stop }
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

const aborted = () => new DOMException('stopped', 'AbortError')

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
      reject(aborted())
    })
  })
}

function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (stop.aborted) return reject(aborted())
    const end = () => {
      clearTimeout(timer)
      reject(aborted())
    }
    const timer = setTimeout(() => {
      stop.removeEventListener('abort', end)
      resolve()
    }, milliseconds)
    stop.addEventListener('abort', end, { once: true })
  })
}
