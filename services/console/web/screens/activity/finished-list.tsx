import { useState } from 'preact/hooks'
import type { Finished, Scope } from '../../api/activity'
import { Button } from '../../parts/button'
import { Foreign } from '../../parts/foreign'
import { date, exactTime } from '../../text/format'
import { activity as text } from '../../text/activity'
import { Caller } from './caller'
import { Outcome } from './outcome'
import { StatementText } from './statement-text'
import type { Use } from './use'

const SHOWN = 25

/** The statements that ended last, the newest first. */
export function FinishedList({ finished, scope, use }: { finished: readonly Finished[]; scope: Scope; use: Use }) {
  const [all, setAll] = useState(false)
  if (!finished.length) return <p class="muted activity-none">{scope === 'own' ? text.nothingLatestOwn : text.nothingLatest}</p>
  const shown = all ? finished : finished.slice(0, SHOWN)
  return (
    <>
      <ul class="statement-list finished" aria-label={text.latest} {...use}>
        {shown.map((statement) => (
          <FinishedLine key={statement.id} statement={statement} />
        ))}
      </ul>
      {shown.length < finished.length && (
        <Button class="activity-more" onClick={() => setAll(true)}>
          {text.showAll(finished.length)}
        </Button>
      )}
    </>
  )
}

const FinishedLine = ({ statement: { caller, tool, database, rows, ms, started_at, outcome, code, statement } }: { statement: Finished }) => (
  <li class="statement">
    <span class="statement-at muted">
      <time dateTime={started_at} title={date(started_at)}>
        {exactTime(started_at)}
      </time>
    </span>
    <span class="statement-caller">
      <Caller {...caller} />
    </span>
    <span class="statement-tool mono">
      <Foreign text={tool} />
    </span>
    <span class="statement-database">
      <Foreign text={database} />
    </span>
    <span class="statement-time">{text.took(ms)}</span>
    <span class="statement-rows muted">{text.rows(rows)}</span>
    <span class="statement-state">
      <Outcome outcome={outcome} code={code} />
    </span>
    <StatementText statement={statement} />
  </li>
)
