import { signal } from '@preact/signals'

const WAITS = [1, 2, 5, 10] // seconds; the last one repeats

/** State of the way to the server. `since` is absent while it answers. */
export const connection = signal<{ since: number | null }>({ since: null })

let probe: Promise<void> | null = null

/** Resolves when the server answers again. Tries after 1, 2, 5 and every further 10 s. */
export function untilBack(signal?: AbortSignal | null): Promise<void> {
  probe ??= probeUntilBack().finally(() => {
    probe = null
  })
  return signal ? orStopped(probe, signal) : probe
}

/** Tries at once instead of after the current wait. */
export function tryNow(): void {
  wake?.()
}

let wake: (() => void) | null = null

async function probeUntilBack(): Promise<void> {
  connection.value = { since: Date.now() }
  for (let attempt = 0; ; attempt += 1) {
    await pause(WAITS[Math.min(attempt, WAITS.length - 1)] ?? 10)
    try {
      // Any answer will do, a refusal as well.
      await fetch('/health', { cache: 'no-store' })
      connection.value = { since: null }
      return
    } catch {
      continue
    }
  }
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000)
    wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}

function orStopped(done: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new DOMException('stopped', 'AbortError'))
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    done.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
