import type { ReadonlySignal, Signal } from '@preact/signals'
import type { ComponentChildren, RefObject } from 'preact'
import { Button } from './button'

interface Props {
  field: RefObject<HTMLTextAreaElement | null>
  draft: Signal<string>
  /** Stops the answer that is on its way; null if there is none. */
  running: ReadonlySignal<AbortController | null>
  /** Question that the arrow up brings back into an empty field. */
  again: string | undefined
  text: { question: string; placeholder: string; send: string; stop: string }
  onSend: (question: string) => void
  /** Further buttons, on the left. */
  children: ComponentChildren
}

/** Field for a question. Enter sends, Shift and Enter begins a line, Esc stops. */
export function QuestionField({ field, draft, running, again, text, onSend, children }: Props) {
  const written = draft.value
  const busy = running.value !== null
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
    } else if (event.key === 'ArrowUp' && written === '' && again !== undefined) {
      draft.value = again
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
        rows={Math.min(8, Math.max(2, written.split('\n').length))}
        value={written}
        onInput={(event) => (draft.value = event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {children}
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
}
