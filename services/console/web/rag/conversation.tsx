import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../parts/button'
import { rag as text } from '../text/rag'
import { ask, draft, pipeline, running, startOver, turns } from './dialogue'
import { TurnView } from './turn-view'

/** The questions of this tab, their answers, and the field for the next question. */
export function Conversation() {
  const foot = useRef<HTMLDivElement>(null)
  const of = pipeline.value
  useEffect(() => foot.current?.scrollIntoView({ block: 'end' }), [turns.value.length])
  return (
    <>
      <h1 class="spoken">{text.conversation}</h1>
      <div class="rag-turns">
        <div class="rag-column">
          {turns.value.length === 0 && (
            <div class="rag-start">
              <h2>{text.startTitle}</h2>
              <p class="muted">{of?.keyless ? text.keylessText : text.startText}</p>
            </div>
          )}
          {turns.value.map((turn) => (
            <TurnView key={turn.id} turn={turn} />
          ))}
          <div ref={foot} />
        </div>
      </div>
      <div class="rag-column">
        <Composer />
      </div>
      <Announcer />
    </>
  )
}

/** Field for a question. Enter sends, Shift and Enter begins a line, Esc stops. */
function Composer() {
  const field = useRef<HTMLTextAreaElement>(null)
  const busy = running.value !== null
  const written = draft.value
  const send = () => {
    if (busy || !written.trim()) return
    draft.value = ''
    void ask(written.trim())
    field.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const last = turns.peek().at(-1)
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault()
      send()
    } else if (event.key === 'Escape' && busy) {
      running.peek()?.abort()
    } else if (event.key === 'ArrowUp' && written === '' && (last?.state === 'failed' || last?.state === 'stopped')) {
      draft.value = last.question
    }
  }
  return (
    <form
      class="rag-composer"
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
      <Button kind="quiet" icon="trash" disabled={turns.value.length === 0} onClick={startOver}>
        {text.startOver}
      </Button>
      {busy ? (
        <Button icon="stop" onClick={() => running.peek()?.abort()}>
          {text.stop}
        </Button>
      ) : (
        <Button kind="main" type="submit" disabled={!written.trim()}>
          {text.ask}
        </Button>
      )}
    </form>
  )
}

/** Tells screen readers that an answer arrives, and then the whole of it once. */
function Announcer() {
  const last = turns.value.at(-1)
  const said = !last ? '' : last.state === 'searching' ? text.searching : last.state === 'answering' ? text.answering : last.state === 'done' ? last.answer : ''
  return (
    <div class="spoken" role="status" aria-live="polite">
      {said}
    </div>
  )
}
