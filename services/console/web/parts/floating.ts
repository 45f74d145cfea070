const GAP = 4
const EDGE = 8

/** Puts an open popover below its button, or above it where there is more room, inside of the window. */
export function place(panel: HTMLElement, anchor: HTMLElement, align: 'start' | 'end' = 'start'): void {
  const around = anchor.getBoundingClientRect()
  const own = panel.getBoundingClientRect()
  const below = innerHeight - around.bottom - GAP - EDGE
  const above = around.top - GAP - EDGE
  const up = own.height > below && above > below
  const rightToLeft = getComputedStyle(panel).direction === 'rtl'
  const fromLeft = (align === 'start') !== rightToLeft
  const wanted = fromLeft ? around.left : around.right - own.width
  panel.style.maxBlockSize = `${Math.max(120, up ? above : below)}px`
  panel.style.left = `${Math.max(EDGE, Math.min(wanted, innerWidth - own.width - EDGE))}px`
  panel.style.top = up ? '' : `${around.bottom + GAP}px`
  panel.style.bottom = up ? `${innerHeight - around.top + GAP}px` : ''
  panel.style.minInlineSize = `${Math.min(around.width, innerWidth - 2 * EDGE)}px`
}
