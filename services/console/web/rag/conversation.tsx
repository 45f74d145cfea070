import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../parts/button'
import { QuestionField } from '../parts/question-field'
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
      <div class="dialogue">
        <div class="dialogue-column">
          {turns.value.length === 0 && (
            <div class="dialogue-start">
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
      <div class="dialogue-column">
        <Composer />
      </div>
      <Announcer />
    </>
  )
}

/** Field for the next question. */
function Composer() {
  const field = useRef<HTMLTextAreaElement>(null)
  const last = turns.value.at(-1)
  const onSend = (question: string) => {
    void ask(question)
    field.current?.focus()
  }
  const again = last?.state === 'failed' || last?.state === 'stopped' ? last.question : undefined
  return (
    <QuestionField field={field} draft={draft} running={running} again={again} text={{ ...text, send: text.ask }} onSend={onSend}>
      <Button kind="quiet" icon="trash" disabled={turns.value.length === 0} onClick={startOver}>
        {text.startOver}
      </Button>
    </QuestionField>
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
