import { useRef, useState } from 'preact/hooks'
import { Button } from '../../parts/button'
import { ask as text } from '../../text/ask'
import { running, turns } from './dialogue'

/** The field for a question. Enter sends, Shift and Enter begins a line, Esc stops. */
export function Composer({ onSend }: { onSend: (question: string) => void }) {
  const failed = turns.value.at(-1)
  const [draft, setDraft] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const busy = running.value !== null
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
