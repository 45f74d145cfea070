import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { place } from './floating'
import { Icon, type IconName } from './icon'
import { moveFocus } from './roving'

/** A line of a menu: an action, a choice among several, or a link. */
export interface MenuItem {
  label: string
  icon?: IconName
  /** Second text at the end of the line, such as a key. */
  note?: string
  /** For choices: tells which one is chosen. */
  checked?: boolean
  disabled?: boolean
  danger?: boolean
  onChoose?: () => void
  href?: string
}

/** A button that opens a menu. Arrows move in it, letters find a line, Esc closes it. */
export function Menu({
  label,
  trigger,
  items,
  class: extra = '',
  tip,
  align = 'start',
}: {
  /** Name of the button and of the menu. */
  label: string
  /** Content of the button. */
  trigger: ComponentChildren
  items: readonly (MenuItem | { heading: string })[]
  class?: string
  tip?: string
  align?: 'start' | 'end'
}) {
  const id = useId()
  const [open, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const panel = useRef<HTMLDivElement>(null)

  const show = () => {
    if (!panel.current || !button.current) return
    place(panel.current, button.current, align)
    const chosen = panel.current.querySelector<HTMLElement>('[aria-checked=true]')
    const first = chosen ?? panel.current.querySelector<HTMLElement>(LINES)
    first?.focus()
  }
  const close = (back = true) => {
    if (panel.current?.matches(':popover-open')) panel.current.hidePopover()
    if (back) button.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!panel.current) return
    if (event.key === 'Tab') return close(false)
    if (event.key === 'Escape') {
      event.preventDefault()
      event.stopPropagation()
      return close()
    }
    if (moveFocus(event, panel.current, LINES, 'vertical')) return
    if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) focusLine(panel.current, event.key)
  }

  return (
    <>
      <button
        type="button"
        ref={button}
        id={`${id}-button`}
        class={`button quiet ${extra}`}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={`${id}-menu`}
        aria-label={label}
        {...(tip && { 'data-tip': tip, 'data-tip-at': align })}
        popovertarget={`${id}-menu`}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown') return
          event.preventDefault()
          panel.current?.showPopover()
        }}
      >
        {trigger}
      </button>
      <div
        ref={panel}
        id={`${id}-menu`}
        class="menu"
        role="menu"
        aria-label={label}
        popover="auto"
        onKeyDown={onKeyDown}
        onBeforeToggle={(event) => setOpen((event as ToggleEvent).newState === 'open')}
        onToggle={(event) => {
          if ((event as ToggleEvent).newState === 'open') show()
        }}
      >
        {open && items.map((item, at) => ('heading' in item ? <Heading key={at} text={item.heading} /> : <Line key={at} item={item} close={close} />))}
      </div>
    </>
  )
}

const LINES = '[role^=menuitem]:not([aria-disabled=true])'

function focusLine(panel: HTMLElement, letter: string): void {
  const lines = [...panel.querySelectorAll<HTMLElement>(LINES)]
  const at = lines.indexOf(document.activeElement as HTMLElement)
  const turned = [...lines.slice(at + 1), ...lines.slice(0, at + 1)]
  turned.find((line) => line.textContent?.trim().toLowerCase().startsWith(letter.toLowerCase()))?.focus()
}

const Heading = ({ text }: { text: string }) => (
  <div role="presentation" class="menu-heading">
    {text}
  </div>
)

function Line({ item, close }: { item: MenuItem; close: (back?: boolean) => void }) {
  const content = (
    <>
      <span class="menu-sign">{item.checked ? <Icon name="check" size={16} /> : item.icon ? <Icon name={item.icon} size={16} /> : null}</span>
      <span class="menu-label">{item.label}</span>
      {item.note && <span class="menu-note">{item.note}</span>}
    </>
  )
  if (item.href) {
    return (
      <a role="menuitem" class="menu-line" tabIndex={-1} href={item.href} onClick={() => close(false)}>
        {content}
      </a>
    )
  }
  const choice = item.checked !== undefined
  return (
    <button
      type="button"
      role={choice ? 'menuitemradio' : 'menuitem'}
      class={`menu-line ${item.danger ? 'danger' : ''}`}
      tabIndex={-1}
      {...(choice && { 'aria-checked': item.checked })}
      {...(item.disabled && { 'aria-disabled': true })}
      onClick={() => {
        if (item.disabled) return
        close()
        item.onChoose?.()
      }}
    >
      {content}
    </button>
  )
}
