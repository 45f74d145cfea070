/** Direction in which arrow keys move. */
export type Axis = 'horizontal' | 'vertical' | 'both'

const NEXT: Record<Axis, string[]> = {
  horizontal: ['ArrowRight'],
  vertical: ['ArrowDown'],
  both: ['ArrowRight', 'ArrowDown'],
}

const PREVIOUS: Record<Axis, string[]> = {
  horizontal: ['ArrowLeft'],
  vertical: ['ArrowUp'],
  both: ['ArrowLeft', 'ArrowUp'],
}

/** Returns the index that a key moves to, or null if the key does not move. Wraps around at the ends. */
export function moved(key: string, axis: Axis, at: number, length: number, rightToLeft = false): number | null {
  if (length === 0) return null
  const turned = rightToLeft && axis !== 'vertical' ? (MIRRORED[key] ?? key) : key
  if (turned === 'Home') return 0
  if (turned === 'End') return length - 1
  if (NEXT[axis].includes(turned)) return (at + 1) % length
  if (PREVIOUS[axis].includes(turned)) return (at - 1 + length) % length
  return null
}

const MIRRORED: Record<string, string> = { ArrowLeft: 'ArrowRight', ArrowRight: 'ArrowLeft' }

/** Moves the focus among elements of a container, for a `keydown` of it. Returns true if it did. */
export function moveFocus(event: KeyboardEvent, container: HTMLElement, selector: string, axis: Axis): boolean {
  const items = [...container.querySelectorAll<HTMLElement>(selector)]
  const at = items.indexOf(document.activeElement as HTMLElement)
  const rightToLeft = getComputedStyle(container).direction === 'rtl'
  const to = moved(event.key, axis, at, items.length, rightToLeft)
  if (to === null) return false
  event.preventDefault()
  items[to]?.focus()
  return true
}
