import type { QueryFailure } from '../../api/query'
import { Banner, ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { Foreign } from '../../parts/foreign'
import { sql as texts } from '../../text/sql'
import type { Run } from './run'

interface Props {
  readonly run: Run
  readonly onShow: () => void
  readonly onRetry: () => void
}

/** Says why a statement failed: in the words of PostgreSQL, or in those of the server that did not run it. */
export function Failure({ run, onShow, onRetry }: Props) {
  const { value: failure } = run.failure
  const { value: problem } = run.problem
  const rows = run.rows.value?.count.value ?? 0
  if (failure) return <Reported failure={failure} rows={rows} onShow={onShow} />
  if (!problem) return null
  const title = run.rows.value ? texts.failedRows(rows) : texts.notRun
  return <ProblemBanner problem={problem} title={title} onRetry={onRetry} />
}

function Reported({
  failure,
  rows,
  onShow,
}: {
  readonly failure: QueryFailure
  readonly rows: number
  readonly onShow: () => void
}) {
  const { message, sqlstate, position, detail, hint } = failure
  return (
    <Banner
      kind="danger"
      title={texts.failed}
      actions={position === null ? undefined : <Button onClick={onShow}>{texts.showPosition}</Button>}
    >
      <p class="failure-message">
        <Foreign text={message} />
      </p>
      {detail && (
        <p>
          {texts.detail}: <Foreign text={detail} />
        </p>
      )}
      {hint && (
        <p>
          {texts.hint}: <Foreign text={hint} />
        </p>
      )}
      {sqlstate && <p class="mono muted">{texts.sqlstate(sqlstate)}</p>}
      {rows > 0 && <p>{texts.failedRows(rows)}</p>}
    </Banner>
  )
}
