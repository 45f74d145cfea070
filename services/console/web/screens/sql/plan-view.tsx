import { Banner, ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { Empty } from '../../parts/facts'
import { Loading } from '../../parts/loading'
import { Plan } from '../../parts/plan/plan'
import { sql as texts } from '../../text/sql'
import type { Run } from './run'

/** The plan of a statement, on demand. */
export function PlanView({ run }: { readonly run: Run }) {
  const { explained, problem, running, analyzed } = run.plan.value
  if (running) return <Loading lines={6} onStop={() => run.stop()} />
  const buttons = (
    <div class="button-row">
      <Button onClick={() => void run.explain(false)}>{texts.explain}</Button>
      <Button onClick={() => void run.explain(true)}>{texts.analyze}</Button>
    </div>
  )
  if (problem) return <ProblemBanner problem={problem} onRetry={() => void run.explain(analyzed)} />
  if (!explained) {
    if (run.state.value === 'stopped' && run.kind === 'plan') return <Banner>{texts.stopped}</Banner>
    return (
      <Empty icon="step" title={texts.planFirst} actions={buttons}>
        {texts.planHint}
      </Empty>
    )
  }
  return <Plan explained={explained} actions={buttons} />
}
