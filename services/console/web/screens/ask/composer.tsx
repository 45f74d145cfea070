import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../parts/button'
import { QuestionField } from '../../parts/question-field'
import { toast } from '../../parts/toast'
import { place, replace } from '../../shell/router'
import { ask as text } from '../../text/ask'
import { shell } from '../../text/shell'
import { draft, running, turns } from './dialogue'

type PromptsDialog = ComponentType<{ onClose: (inserted: boolean) => void }>

/** Field for a question, with the prompts. */
export function Composer({ onSend }: { onSend: (question: string) => void }) {
  const failed = turns.value.at(-1)
  const field = useRef<HTMLTextAreaElement>(null)
  const prompts = usePrompts()
  const { hash } = place.value
  // A text behind `#` fills the field. It is never sent by itself.
  useEffect(() => {
    if (!hash) return
    draft.value = hash
    replace({ hash: '' })
    field.current?.focus()
  }, [hash])
  const form = (
    <QuestionField field={field} draft={draft} running={running} again={failed?.state === 'failed' ? failed.question : undefined} text={text} onSend={onSend}>
      <Button kind="quiet" icon="prompt" onClick={prompts.show}>
        {text.prompts}
      </Button>
    </QuestionField>
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
