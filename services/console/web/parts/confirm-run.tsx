import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { shell } from '../text/shell'
import { Button } from './button'
import { CodeText } from './code-text'
import { Dialog } from './dialog'

/** Asks before a text changes data; `run` is on the button that runs it. The focus is on the other button, and a long text has to be read to its end first. */
export function ConfirmRun({
  title,
  text,
  label,
  run,
  leave = shell.cancel,
  children,
  onDecide,
}: {
  title: string
  text: string
  label: string
  run: string
  /** Is on the button that has the focus. */
  leave?: string
  children: ComponentChildren
  onDecide: (runs: boolean) => void
}) {
  const [isRead, setRead] = useState(false)
  const whole = useRef<HTMLDivElement>(null)
  const look = () => {
    const shown = whole.current?.querySelector('pre')
    if (shown && shown.scrollTop + shown.clientHeight >= shown.scrollHeight - 4) setRead(true)
  }
  useEffect(look, [text])
  return (
    <Dialog
      title={title}
      wide
      onClose={() => onDecide(false)}
      actions={
        <>
          <Button autofocus onClick={() => onDecide(false)}>
            {leave}
          </Button>
          <Button kind="danger" disabled={!isRead} onClick={() => onDecide(true)}>
            {run}
          </Button>
        </>
      }
    >
      {children}
      <div ref={whole} class="confirm-text" onScrollCapture={look}>
        <CodeText text={text} label={label} copies={false} />
      </div>
      {!isRead && <p class="hint">{shell.readToEnd}</p>}
    </Dialog>
  )
}
