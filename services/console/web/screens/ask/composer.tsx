import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../parts/button'
import { place, replace } from '../../shell/router'
import { ask as text } from '../../text/ask'
import { running, turns } from './dialogue'

/** Field for a question. Enter sends, Shift and Enter begins a line, Esc stops. */
export function Composer({ onSend }: { onSend: (question: string) => void }) {
  const failed = turns.value.at(-1)
  const [draft, setDraft] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const busy = running.value !== null
  const { hash } = place.value
  // A text behind `#` fills the field. It is never sent by itself.
  useEffect(() => {
    if (!hash) return
    setDraft(hash)
    replace({ hash: '' })
    field.current?.focus()
  }, [hash])
  const send = () => {
    const question = draft.trim()
    if (!question || busy) return
    setDraft('')
    onSend(question)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault()
      send()
    } else if (event.key === 'Escape' && busy) {
      running.peek()?.abort()
    } else if (event.key === 'ArrowUp' && draft === '' && failed?.state === 'failed') {
      setDraft(failed.question)
    }
  }
  return (
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
        rows={Math.min(8, Math.max(2, draft.split('\n').length))}
        value={draft}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {busy ? (
        <Button icon="stop" onClick={() => running.peek()?.abort()}>
          {text.stop}
        </Button>
      ) : (
        <Button kind="main" type="submit" disabled={!draft.trim()}>
          {text.send}
        </Button>
      )}
    </form>
  )
}
