import { useEffect, useRef, useState } from 'preact/hooks'

const STEP = 16 // pixels for an arrow key

/**
 * A line between two places that changes the size of the first one, by pointer and by arrow keys.
 * It sets `--<name>` in pixels on its parent; the style sheet says what that means. The size is kept per browser.
 */
export function Splitter({
  name,
  label,
  axis = 'vertical',
  initial,
  smallest,
  largest,
  from = 'start',
}: {
  name: string
  label: string
  /** Direction of the line itself: a vertical one changes a width. */
  axis?: 'vertical' | 'horizontal'
  initial: number
  smallest: number
  largest: number
  /** Side of the place whose size changes. */
  from?: 'start' | 'end'
}) {
  const element = useRef<HTMLDivElement>(null)
  const [size, setSize] = useState(() => within(kept(name) ?? initial, smallest, largest))
  const drag = useRef<{ at: number; size: number } | null>(null)

  useEffect(() => {
    element.current?.parentElement?.style.setProperty(`--${name}`, `${size}px`)
    keep(name, size)
  }, [size])

  const set = (value: number) => setSize(within(value, smallest, largest))
  const along = (event: PointerEvent) => (axis === 'vertical' ? event.clientX : event.clientY)
  const sign = from === 'start' ? 1 : -1
  const onKeyDown = (event: KeyboardEvent) => {
    const grow = axis === 'vertical' ? 'ArrowRight' : 'ArrowDown'
    const shrink = axis === 'vertical' ? 'ArrowLeft' : 'ArrowUp'
    const to = { [grow]: size + sign * STEP, [shrink]: size - sign * STEP, Home: smallest, End: largest, Enter: initial }[event.key]
    if (to === undefined) return
    event.preventDefault()
    set(to)
  }
  return (
    <div
      ref={element}
      class={`splitter ${axis}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={axis}
      aria-valuenow={Math.round(size)}
      aria-valuemin={smallest}
      aria-valuemax={largest}
      onKeyDown={onKeyDown}
      onDblClick={() => set(initial)}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        drag.current = { at: along(event), size }
      }}
      onPointerMove={(event) => {
        if (drag.current) set(drag.current.size + sign * (along(event) - drag.current.at))
      }}
      onPointerUp={() => (drag.current = null)}
      onPointerCancel={() => (drag.current = null)}
    />
  )
}

const within = (value: number, smallest: number, largest: number) => Math.max(smallest, Math.min(largest, value))

const storageName = (name: string) => `ziggurat-console-size-${name}`

function kept(name: string): number | null {
  const value = Number.parseInt(localStorage.getItem(storageName(name)) ?? '', 10)
  return Number.isFinite(value) ? value : null
}

function keep(name: string, size: number): void {
  try {
    localStorage.setItem(storageName(name), String(Math.round(size)))
  } catch {
    // Without storage the size holds until the page is closed.
  }
}
