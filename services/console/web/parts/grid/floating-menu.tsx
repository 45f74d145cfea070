import { useEffect, useRef } from 'preact/hooks'

export interface MenuItem {
  readonly text: string
  readonly run: () => void
  /** The menu stays open, for what is done several times. */
  readonly stays?: boolean
}

interface Props {
  readonly label: string
  readonly items: readonly MenuItem[]
  /** The element or name under which the menu opens. */
  readonly anchor: DOMRect
  readonly onClose: () => void
}

/** A menu beside an element. Arrows, Home, End and first letters move; Escape closes. */
export function FloatingMenu({ label, items, anchor, onClose }: Props) {
  const menu = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const node = menu.current
    if (!node) return
    node.showPopover()
    place(node, anchor)
    node.querySelector('button')?.focus()
    const toggled = (event: Event): void => {
      if ((event as ToggleEvent).newState === 'closed') onClose()
    }
    node.addEventListener('toggle', toggled)
    return () => node.removeEventListener('toggle', toggled)
  }, [])
  return (
    <div ref={menu} popover="auto" class="floating-menu" role="menu" aria-label={label} onKeyDown={move}>
      {items.map((item) => (
        <button
          key={item.text}
          type="button"
          role="menuitem"
          tabIndex={-1}
          onClick={() => {
            item.run()
            if (!item.stays) menu.current?.hidePopover()
          }}
        >
          {item.text}
        </button>
      ))}
    </div>
  )
}

const MARGIN = 8

/** Puts a menu below its anchor, or above if there is no space. */
function place(node: HTMLElement, anchor: DOMRect): void {
  const { width, height } = node.getBoundingClientRect()
  const left = Math.min(anchor.left, window.innerWidth - width - MARGIN)
  const below = anchor.bottom + 2
  const top = below + height + MARGIN > window.innerHeight ? anchor.top - height - 2 : below
  node.style.left = `${Math.max(MARGIN, left)}px`
  node.style.top = `${Math.max(MARGIN, top)}px`
}

function move(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const items = [...event.currentTarget.querySelectorAll('button')]
  const at = items.findIndex((item) => item === document.activeElement)
  const to = target(event.key, at, items)
  if (to === undefined) {
    if (event.key === 'Tab') event.currentTarget.hidePopover()
    return
  }
  event.preventDefault()
  event.stopPropagation()
  to.focus()
}

function target(key: string, at: number, items: HTMLElement[]): HTMLElement | undefined {
  if (key === 'ArrowDown') return items[(at + 1) % items.length]
  if (key === 'ArrowUp') return items.at(at - 1)
  if (key === 'Home') return items[0]
  if (key === 'End') return items.at(-1)
  if (key.length !== 1) return undefined
  const order = [...items.slice(at + 1), ...items.slice(0, at + 1)]
  return order.find((item) => item.textContent?.toLowerCase().startsWith(key.toLowerCase()))
}
