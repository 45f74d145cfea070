import type { Notice } from '../../api/query'
import { Badge, Empty, Facts } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { number } from '../../text/format'
import { sql as texts } from '../../text/sql'
import { Failure } from './failure'
import type { Run } from './run'

interface Props {
  readonly run: Run
  readonly onShow: () => void
  readonly onRetry: () => void
}

/** Notices of a statement, and the rows that it changed. */
export function Messages({ run, onShow, onRetry }: Props) {
  const { value: done } = run.done
  const facts: [string, string][] = []
  if (done?.command) facts.push([texts.command, done.command])
  if (done && done.affected !== null) facts.push([texts.affected, number(done.affected)])
  const { notices } = run
  const isEmpty = facts.length === 0 && notices.length === 0 && !run.failure.value && !run.problem.value
  return (
    <div class="sql-messages">
      <Failure run={run} onShow={onShow} onRetry={onRetry} />
      {isEmpty && <Empty icon="info" title={texts.noMessages} />}
      {facts.length > 0 && <Facts facts={facts} />}
      {notices.length > 0 && (
        <ul class="notices" aria-label={texts.notices}>
          {notices.map((notice, place) => (
            <NoticeLine key={place} notice={notice} />
          ))}
        </ul>
      )}
    </div>
  )
}

function NoticeLine({ notice }: { readonly notice: Notice }) {
  const { severity, message, detail, hint } = notice
  return (
    <li>
      <Badge kind={severity === 'WARNING' ? 'warn' : 'plain'}>{severity}</Badge>{' '}
      <span class="mono">
        <Foreign text={message} />
      </span>
      {detail && (
        <p class="muted">
          {texts.detail}: <Foreign text={detail} />
        </p>
      )}
      {hint && (
        <p class="muted">
          {texts.hint}: <Foreign text={hint} />
        </p>
      )}
    </li>
  )
}
