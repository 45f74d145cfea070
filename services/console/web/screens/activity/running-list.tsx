import { useState } from 'preact/hooks'
import { cancelStatement, type Scope } from '../../api/activity'
import { Problem } from '../../api/problem'
import { Button } from '../../parts/button'
import { Badge } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { toast } from '../../parts/toast'
import { activity as text } from '../../text/activity'
import { type Line, millisecondsOf } from './board'
import { Caller } from './caller'
import { now } from './now'
import { Outcome } from './outcome'
import { StatementText } from './statement-text'
import type { Use } from './use'

/** The running statements, the oldest first, each with a way to end it. */
export function RunningList({ lines, scope, use }: { lines: readonly Line[]; scope: Scope; use: Use }) {
  if (!lines.length) return <p class="muted activity-none">{scope === 'own' ? text.nothingRunsOwn : text.nothingRuns}</p>
  return (
    <>
      <ul class="statement-list running" aria-label={text.now} {...use}>
        {lines.map((line) => (
          <RunningLine key={line.statement.id} line={line} />
        ))}
      </ul>
      <p class="hint">{text.cancelHint}</p>
    </>
  )
}

function RunningLine({ line }: { line: Line }) {
  const { statement, ended } = line
  const { id, caller, tool, database, rows, state } = statement
  const [asked, setAsked] = useState(false)
  const name = caller.name ?? text.kinds[caller.kind] ?? caller.kind
  const cancel = async () => {
    if (asked || ended) return
    setAsked(true)
    try {
      await cancelStatement(id)
      toast(text.cancelling(name))
    } catch (problem) {
      if (problem instanceof Problem && problem.code === 'no_such_statement') return toast(text.alreadyEnded)
      setAsked(false)
      toast(problem instanceof Error ? problem.message : String(problem), 'danger')
    }
  }
  const stopping = state === 'cancelling' || asked
  return (
    <li class={`statement ${ended ? 'ended' : ''}`}>
      <span class="statement-caller">
        <Caller {...caller} />
      </span>
      <span class="statement-tool mono">
        <Foreign text={tool} />
      </span>
      <span class="statement-database">
        <Foreign text={database} />
      </span>
      <span class="statement-time">
        <Elapsed line={line} />
      </span>
      <span class="statement-rows muted">{text.rows(rows)}</span>
      <span class="statement-state">
        {ended === 'unknown' ? <Badge>{text.ended}</Badge> : ended ? <Outcome outcome={ended.outcome} code={ended.code} /> : <State state={stopping ? 'cancelling' : state} />}
      </span>
      <span class="statement-action">
        {/* The button stays when the statement has ended, so that the focus stays as well. */}
        <Button aria-label={text.cancelOf(name, tool)} aria-disabled={stopping || ended !== null} onClick={() => void cancel()}>
          {text.cancel}
        </Button>
      </span>
      <StatementText statement={statement.statement} />
    </li>
  )
}

const State = ({ state }: { state: string }) => (
  <Badge kind={state === 'cancelling' ? 'warn' : state === 'waiting' ? 'plain' : 'clay'}>{text.states[state] ?? state}</Badge>
)

// Apart, so that only this text is drawn anew while the time counts.
const Elapsed = ({ line }: { line: Line }) => <>{text.elapsed(millisecondsOf(line, now.value))}</>
