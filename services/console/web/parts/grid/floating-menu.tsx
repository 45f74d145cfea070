import { useEffect, useRef } from 'preact/hooks'
import { place } from '../floating'
import { Icon, type IconName } from '../icon'
import { moveFocus } from '../roving'

export interface FloatingItem {
  readonly label: string
  readonly icon?: IconName
  readonly run: () => void
  /** The menu stays open, for what is done several times. */
  readonly stays?: boolean
}

interface Props {
  readonly label: string
  readonly items: readonly FloatingItem[]
  /** The element under which the menu opens; it keeps no focus of its own. */
  readonly anchor: HTMLElement
  readonly onClose: () => void
}

/** A menu of something that is not a button, such as a cell. Arrows move, Escape closes. */
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
  const onKeyDown = (event: KeyboardEvent): void => {
    event.stopPropagation()
    if (event.key === 'Tab' || event.key === 'Escape') {
      event.preventDefault()
      menu.current?.hidePopover()
    } else if (menu.current) moveFocus(event, menu.current, 'button', 'vertical')
  }
  return (
    <div ref={menu} popover="auto" class="menu" role="menu" aria-label={label} onKeyDown={onKeyDown}>
      {items.map((item) => (
        <button
          key={item.label}
          type="button"
          role="menuitem"
          class="menu-line"
          tabIndex={-1}
          onClick={() => {
            item.run()
            if (!item.stays) menu.current?.hidePopover()
          }}
        >
          <span class="menu-sign">{item.icon && <Icon name={item.icon} size={16} />}</span>
          <span class="menu-label">{item.label}</span>
        </button>
      ))}
    </div>
  )
}
