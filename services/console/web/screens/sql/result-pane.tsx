import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Banner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { isDrawable } from '../../parts/chart/shape'
import { Empty } from '../../parts/facts'
import { Icon } from '../../parts/icon'
import { Loading } from '../../parts/loading'
import { Tabs } from '../../parts/tabs'
import { COMMAND_KEY } from '../../shell/keys'
import { sql as texts } from '../../text/sql'
import { ChartView } from './chart-view'
import { Failure } from './failure'
import { Messages } from './messages'
import { PlanView } from './plan-view'
import { RowsView } from './rows-view'
import type { Run } from './run'
import type { Sheet, View } from './sheet'
import type { Work } from './work'

interface Props {
  readonly work: Work
  readonly sheet: Sheet
  /** Shows the place of the failure in the editor. */
  readonly onShow: () => void
}

/** The results of the statements of a tab: one result for each, with its views. */
export function ResultPane({ work, sheet, onShow }: Props) {
  const runs = sheet.runs.value
  const run = sheet.shown.value && runs.includes(sheet.shown.value) ? sheet.shown.value : runs.at(-1)
  return (
    <section class="sql-result" aria-label={texts.result} data-region>
      {sheet.interrupted.value && (
        <Banner
          kind="warn"
          actions={<Button onClick={() => (sheet.interrupted.value = false)}>{texts.dismiss}</Button>}
        >
          {texts.interrupted}
        </Banner>
      )}
      {!run && !sheet.interrupted.value && (
        <Empty icon="sql" title={texts.emptyTitle}>
          {texts.empty(COMMAND_KEY)}
        </Empty>
      )}
      {run && runs.length > 1 && (
        <RunTabs runs={runs} current={run} onChoose={(other) => (sheet.shown.value = other)} />
      )}
      {run && <RunResult key={run.id} work={work} sheet={sheet} run={run} onShow={onShow} />}
    </section>
  )
}

function RunTabs({
  runs,
  current,
  onChoose,
}: {
  runs: readonly Run[]
  current: Run
  onChoose: (run: Run) => void
}) {
  const tabs = runs.map((run, place) => ({
    name: String(run.id),
    title: (
      <span class="run-tab">
        <Icon name={SIGNS[run.state.value]} size={14} /> {texts.resultTab(place + 1)}
      </span>
    ),
  }))
  return (
    <div class="run-tabs">
      <Tabs
        label={texts.results}
        tabs={tabs}
        current={String(current.id)}
        onChoose={(id) => {
          const run = runs.find((found) => String(found.id) === id)
          if (run) onChoose(run)
        }}
      >
        {null}
      </Tabs>
    </div>
  )
}

const SIGNS = { running: 'clock', done: 'check', failed: 'error', stopped: 'stop' } as const

const ALL: readonly View[] = ['rows', 'chart', 'plan', 'messages']

/** Views of a statement: a plan has only itself, and rows without a number have no chart. */
function viewsOf(run: Run): readonly View[] {
  if (run.kind === 'plan') return ['plan']
  const { value: rows } = run.rows
  return rows && isDrawable(rows) ? ALL : ALL.filter((view) => view !== 'chart')
}

function RunResult({ work, sheet, run, onShow }: Props & { readonly run: Run }) {
  const views = viewsOf(run)
  const view = views.includes(sheet.view.value) ? sheet.view.value : (views[0] ?? 'rows')
  const notices = run.notices.length
  const retry = (): void => void work.loadMore(sheet, run, run.order.limit)
  const tabs = views.map((name) => ({
    name,
    title: name === 'messages' && notices > 0 ? `${texts.views.messages} (${notices})` : texts.views[name],
  }))
  return (
    <Tabs
      label={texts.result}
      tabs={tabs}
      current={view}
      onChoose={(name) => (sheet.view.value = name as View)}
      end={<RunFacts run={run} />}
    >
      {view === 'rows' && (
        <>
          <Failure run={run} onShow={onShow} onRetry={retry} />
          <Rows work={work} sheet={sheet} run={run} />
        </>
      )}
      {view === 'chart' && <ChartView run={run} />}
      {view === 'plan' && <PlanView run={run} />}
      {view === 'messages' && <Messages run={run} onShow={onShow} onRetry={retry} />}
    </Tabs>
  )
}

function Rows({ work, sheet, run }: { readonly work: Work; readonly sheet: Sheet; readonly run: Run }) {
  const rows = run.rows.value
  if (rows && rows.columns.length > 0) return <RowsView work={work} sheet={sheet} run={run} rows={rows} />
  if (run.state.value === 'running') return <Loading lines={6} onStop={() => sheet.stop()} />
  const { value: done } = run.done
  if (done) return <Empty icon="check" title={texts.noColumns(done)} />
  return run.state.value === 'stopped' ? <Empty icon="stop" title={texts.stopped} /> : null
}

/** Rows, time, database and clock of a result, announced when it is whole. */
function RunFacts({ run }: { readonly run: Run }) {
  const state = run.state.value
  const { value: done } = run.done
  const count = run.rows.value?.count.value ?? 0
  const where = texts.facts(run.ms.value, run.order.database, run.startedAt)
  if (state === 'running') return <Elapsed run={run} rows={count} />
  if (run.kind === 'plan') return <span class="run-facts muted">{where}</span>
  const said =
    state === 'stopped'
      ? texts.stoppedRows(count)
      : done && run.rows.value?.columns.length
        ? texts.rowsOf(done)
        : ''
  return (
    <span class="run-facts muted" role="status">
      {[said, where].filter(Boolean).join(' · ')}
    </span>
  )
}

function Elapsed({ run, rows }: { readonly run: Run; readonly rows: number }) {
  const seconds = useSignal(0)
  useEffect(() => {
    const timer = setInterval(() => (seconds.value = Math.floor((Date.now() - run.startedAt) / 1000)), 500)
    return () => clearInterval(timer)
  }, [run])
  const said = [texts.running(seconds.value), ...(rows > 0 ? [texts.runningRows(rows)] : [])]
  return <span class="run-facts muted">{said.join(' · ')}</span>
}
