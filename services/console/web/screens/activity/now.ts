import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** Time of this browser, of a clock that never goes back. Moves only while a list counts up. */
export const now = signal(0)

const TICK = 100 // milliseconds

/** Moves the time while something counts up and the page is visible. */
export function useClock(counts: boolean): void {
  useEffect(() => {
    now.value = performance.now()
    if (!counts) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') now.value = performance.now()
    }, TICK)
    return () => clearInterval(timer)
  }, [counts])
}
