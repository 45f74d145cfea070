import { useEffect, useState } from 'preact/hooks'
import { shell } from '../text/shell'
import { Button } from './button'

const QUIET = 150 // milliseconds before anything is shown
const LONG = 3 // seconds before the elapsed time is shown

/** A place that waits: nothing at first, then grey lines of its size, later the elapsed time and Stop. */
export function Loading({ lines = 4, onStop }: { lines?: number; onStop?: () => void }) {
  const [started] = useState(() => Date.now())
  const [now, setNow] = useState(started)
  useEffect(() => {
    const first = setTimeout(() => setNow(Date.now()), QUIET)
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => {
      clearTimeout(first)
      clearInterval(timer)
    }
  }, [])
  if (now - started < QUIET) return <div class="loading" aria-busy="true" />
  const seconds = Math.floor((now - started) / 1000)
  return (
    <div class="loading" aria-busy="true">
      <span class="spoken" role="status">
        {shell.loading}
      </span>
      {Array.from({ length: lines }, (_, at) => (
        <div key={at} class="skeleton" />
      ))}
      {seconds >= LONG && (
        <p class="loading-long">
          <span class="muted">{shell.loadingFor(seconds)}</span>
          {onStop && (
            <Button icon="stop" onClick={onStop}>
              {shell.stop}
            </Button>
          )}
        </p>
      )}
    </div>
  )
}
