import type { ComponentChildren } from 'preact'
import { token as text } from '../text/token'
import { Banner } from './banner'
import { Button } from './button'
import { CodeText } from './code-text'
import { Dialog } from './dialog'

/**
 * Shows a secret that the server has just made. Only the button closes it, and then no part of the
 * program has the secret any more: it is in the values of this component alone.
 */
export function ShownOnce({ title, note, label, secret, children, onDone }: { title: string; note: string; label: string; secret: string; children?: ComponentChildren; onDone: () => void }) {
  return (
    <Dialog
      title={title}
      closable={false}
      wide={children !== undefined}
      onClose={onDone}
      actions={
        <Button kind="main" icon="check" onClick={onDone}>
          {text.done}
        </Button>
      }
    >
      <Banner kind="warn">{note}</Banner>
      <div class="shown-once">
        <h3>{label}</h3>
        <CodeText text={secret} label={label} />
      </div>
      {children}
    </Dialog>
  )
}
