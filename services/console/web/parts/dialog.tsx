import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { shell } from '../text/shell'
import { IconButton } from './button'
import { Toasts } from './toast'

/**
 * A dialog over the page. It is shown while it is rendered; `onClose` is asked to take it away.
 *
 * The focus goes to the element with `data-autofocus`, else to the first control, and back when it closes.
 */
export function Dialog({
  title,
  onClose,
  children,
  actions,
  wide = false,
  side,
  closable = true,
}: {
  title: string
  onClose: () => void
  children: ComponentChildren
  /** Buttons at the end, the main one last. */
  actions?: ComponentChildren
  wide?: boolean
  /** Shows it as a drawer at a side of the window. */
  side?: 'start' | 'end'
  /** Is false if the person has to choose one of the actions. */
  closable?: boolean
}) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const isGone = useRef(false)

  useEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    element?.showModal()
    element?.querySelector<HTMLElement>('[data-autofocus]')?.focus()
    return () => {
      isGone.current = true
      if (element?.open) element.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])

  return (
    <dialog
      ref={dialog}
      class={`dialog ${wide ? 'wide' : ''} ${side ? `drawer ${side}` : ''}`}
      aria-labelledby={`${id}-title`}
      onCancel={(event) => {
        event.preventDefault()
        if (closable) onClose()
      }}
      onClose={() => {
        // Browsers close a dialog at the second Esc in a row, whatever `cancel` has said.
        if (isGone.current || !dialog.current || dialog.current.open) return
        if (closable) onClose()
        else dialog.current.showModal()
      }}
      onClick={(event) => {
        if (closable && side && event.target === dialog.current) onClose()
      }}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2 id={`${id}-title`}>{title}</h2>
          {closable && <IconButton icon="close" name={shell.close} tip="end" onClick={onClose} />}
        </header>
        <div class="dialog-body">{children}</div>
        {actions && <footer class="dialog-foot">{actions}</footer>}
      </div>
      <Toasts />
    </dialog>
  )
}
