import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../parts/button'
import { CodeText } from '../../parts/code-text'
import { Badge } from '../../parts/facts'
import { TextArea } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { copy } from '../../parts/toast'
import { SCREENS } from '../../shell/screens'
import { go } from '../../shell/router'
import { ask as text } from '../../text/ask'
import { StepResult, shownCell, tableOf } from './step-result'
import { type Step, statementOf } from './turns'

/** Steps that are unfolded whatever they returned: what was refused is not hidden. */
const OPEN: readonly Step['state'][] = ['running', 'failed', 'declined']

/** One step of an answer: the tool, its statement, and the result. */
export function StepView({ step, number, busy, onRun, onAnswer }: { step: Step; number: number; busy: boolean; onRun: (statement: string) => void; onAnswer?: (() => void) | undefined }) {
  const [draft, setDraft] = useState<string | null>(null)
  const details = useRef<HTMLDetailsElement>(null)
  const wanted = shownCell.value?.step === step.id
  useEffect(() => {
    if (wanted && details.current) details.current.open = true
  }, [wanted])
  const statement = statementOf(step)
  const rows = step.state === 'done' ? tableOf(step) : null
  const title = step.state === 'running' ? text.running(step.tool) : statement ? text.ranIn(step.tool, step.database) : text.ran(step.tool)
  return (
    <details ref={details} class="ask-step step" style={{ '--step': number }} open={OPEN.includes(step.state) || (rows !== null && rows.rows.length <= 12)} id={`step-${step.id}`}>
      <summary>
        <span class="ask-step-title">
          <Foreign text={title} />
        </span>
        {rows && <span class="muted">{text.rows(rows.rows.length)}</span>}
        {step.editedBy && <Badge kind="clay">{text.editedBy(step.editedBy)}</Badge>}
        <StateBadge step={step} />
        <span class="muted ask-step-time">{step.state !== 'running' && text.took(step.milliseconds)}</span>
      </summary>
      <div class="ask-step-body">
        {draft !== null ? (
          <form
            class="ask-edit"
            onSubmit={(event) => {
              event.preventDefault()
              onRun(draft)
              setDraft(null)
            }}
          >
            <TextArea label={text.statement} class="mono" rows={Math.min(14, draft.split('\n').length + 1)} value={draft} onText={setDraft} />
            <div class="button-row">
              <Button kind="main" icon="run" type="submit" disabled={busy}>
                {text.run}
              </Button>
              <Button onClick={() => setDraft(null)}>{text.cancel}</Button>
            </div>
          </form>
        ) : (
          <>
            <CodeText text={statement ?? JSON.stringify(step.input, null, 2)} language={statement ? 'plain' : 'json'} copies={false} label={`${text.statement} ${number + 1}`} />
            <div class="button-row">
              {statement && (
                <Button icon="edit" onClick={() => setDraft(statement)} disabled={busy}>
                  {text.edit}
                </Button>
              )}
              {statement && (
                <Button icon="copy" onClick={() => copy(statement)}>
                  {text.copy}
                </Button>
              )}
              {statement && SCREENS.some(({ name }) => name === 'sql') && (
                <Button icon="sql" onClick={() => go({ screen: 'sql', query: { db: step.database }, hash: statement })}>
                  {text.openInSql}
                </Button>
              )}
              {onAnswer && (
                <Button icon="ask" onClick={onAnswer} disabled={busy}>
                  {text.answerFromThis}
                </Button>
              )}
            </div>
          </>
        )}
        {rows ? <StepResult step={step} rows={rows} name={`${title}, ${number + 1}`} /> : step.text && <CodeText text={step.text} label={`${text.text} ${number + 1}`} />}
        <details class="ask-raw">
          <summary>{text.raw}</summary>
          <CodeText text={JSON.stringify({ tool: step.tool, input: step.input, text: step.text, structured: step.structured }, null, 2)} language="json" label={`${text.raw} ${number + 1}`} />
        </details>
      </div>
    </details>
  )
}

function StateBadge({ step: { state } }: { step: Step }) {
  if (state === 'failed') return <Badge kind="danger">{text.failedStep}</Badge>
  if (state === 'declined') return <Badge kind="warn">{text.declinedStep}</Badge>
  if (state === 'stopped') return <Badge>{text.stoppedStep}</Badge>
  return null
}
