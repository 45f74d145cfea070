import { useEffect, useState } from 'preact/hooks'
import { wasStopped } from '../../api/problem'

/** The answer to a request, or its failure; neither while it runs for the first time. */
export interface Loaded<T> {
  value: T | null
  problem: unknown
  /** Asks again. What is shown stays until the answer is there. */
  again: () => void
}

/** Loads something when a part of the screen is opened. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [value, setValue] = useState<T | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const stop = new AbortController()
    load(stop.signal).then(
      (loaded) => {
        setValue(loaded)
        setProblem(null)
      },
      (failure: unknown) => wasStopped(failure) || setProblem(failure),
    )
    return () => stop.abort()
  }, [attempt])
  return { value, problem, again: () => setAttempt((before) => before + 1) }
}
