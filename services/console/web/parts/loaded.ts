import { useEffect, useRef, useState } from 'preact/hooks'
import { stopped, wasStopped } from '../api/problem'

/** The answer to a request, or its failure; neither while it runs for the first time. */
export interface Loaded<T> {
  value: T | null
  problem: unknown
  /** Asks again. What is shown stays until the answer is there. */
  again: () => void
  stop: () => void
}

/** Loads something when a part of the screen is opened, and anew when one of the inputs changes. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[] = []): Loaded<T> {
  const [value, setValue] = useState<T | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  const running = useRef(new AbortController())
  useEffect(() => {
    setValue(null)
    setProblem(null)
  }, inputs)
  useEffect(() => {
    const own = new AbortController()
    running.current = own
    load(own.signal).then(
      (loaded) => {
        if (own.signal.aborted) return
        setValue(loaded)
        setProblem(null)
      },
      (failure: unknown) => own.signal.aborted || wasStopped(failure) || setProblem(failure),
    )
    return () => own.abort()
  }, [...inputs, attempt])
  const stop = () => {
    running.current.abort()
    setProblem(stopped())
  }
  const again = () => {
    if (value === null) setProblem(null)
    setAttempt((before) => before + 1)
  }
  return { value, problem, again, stop }
}
