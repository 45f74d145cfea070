import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Empty } from '../../parts/facts'
import { Loading } from '../../parts/loading'
import { ProblemBanner } from '../../parts/banner'
import type { Rows } from '../../parts/grid/rows'
import { sql as texts } from '../../text/sql'
import type { Run } from './run'

type ChartComponent = ComponentType<{ rows: Rows }>

/** The chart of a result. Its code is loaded when the first one is shown. */
export function ChartView({ run }: { readonly run: Run }) {
  const [loaded, setLoaded] = useState<{ Chart: ChartComponent } | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  useEffect(() => {
    import('../../parts/chart/chart').then(({ Chart }) => setLoaded({ Chart }), setProblem)
  }, [])
  const rows = run.rows.value
  if (problem) return <ProblemBanner problem={problem} />
  if (run.state.value === 'running') return <Loading lines={6} />
  if (!rows || rows.count.value === 0) return <Empty icon="chart" title={texts.chartNone} />
  return loaded ? <loaded.Chart rows={rows} /> : <Loading lines={6} />
}
