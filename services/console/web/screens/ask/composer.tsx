import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../parts/button'
import { toast } from '../../parts/toast'
import { place, replace } from '../../shell/router'
import { ask as text } from '../../text/ask'
import { shell } from '../../text/shell'
import { draft, running, turns } from './dialogue'

type PromptsDialog = ComponentType<{ onClose: (inserted: boolean) => void }>

/** Field for a question. Enter sends, Shift and Enter begins a line, Esc stops. */
export function Composer({ onSend }: { onSend: (question: string) => void }) {
  const failed = turns.value.at(-1)
  const written = draft.value
  const field = useRef<HTMLTextAreaElement>(null)
  const busy = running.value !== null
  const prompts = usePrompts()
  const { hash } = place.value
  // A text behind `#` fills the field. It is never sent by itself.
  useEffect(() => {
    if (!hash) return
    draft.value = hash
    replace({ hash: '' })
    field.current?.focus()
  }, [hash])
  const send = () => {
    const question = written.trim()
    if (!question || busy) return
    draft.value = ''
    onSend(question)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault()
      send()
    } else if (event.key === 'Escape' && busy) {
      running.peek()?.abort()
    } else if (event.key === 'ArrowUp' && written === '' && failed?.state === 'failed') {
      draft.value = failed.question
    }
  }
  const form = (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        ref={field}
        aria-label={text.question}
        placeholder={text.placeholder}
        rows={Math.min(8, Math.max(2, written.split('\n').length))}
        value={written}
        onInput={(event) => (draft.value = event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <Button kind="quiet" icon="prompt" class="composer-prompts" onClick={prompts.show}>
        {text.prompts}
      </Button>
      {busy ? (
        <Button icon="stop" onClick={() => running.peek()?.abort()}>
          {text.stop}
        </Button>
      ) : (
        <Button kind="main" type="submit" disabled={!written.trim()}>
          {text.send}
        </Button>
      )}
    </form>
  )
  // Beside the form, not in it: what is submitted in the dialog is not the question.
  const { Prompts } = prompts
  return (
    <>
      {form}
      {Prompts && <Prompts onClose={(inserted) => prompts.close(inserted ? field.current : null)} />}
    </>
  )
}

/** The dialog of prompts while it is open. Its code is loaded when it is opened first. */
function usePrompts(): { Prompts: PromptsDialog | null; show: () => void; close: (focus: HTMLElement | null) => void } {
  const [loaded, setLoaded] = useState<{ Prompts: PromptsDialog } | null>(null)
  const [open, setOpen] = useState(false)
  const show = () => {
    setOpen(true)
    import('./prompts').then(setLoaded, () => toast(shell.newVersion, 'danger'))
  }
  const close = (focus: HTMLElement | null) => {
    setOpen(false)
    if (focus) requestAnimationFrame(() => focus.focus())
  }
  return { Prompts: open && loaded ? loaded.Prompts : null, show, close }
}
