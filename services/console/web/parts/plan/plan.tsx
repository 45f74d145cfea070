import type { ComponentChildren } from 'preact'
import { useId, useMemo } from 'preact/hooks'
import type { Explained } from '../../api/explain'
import { plan as texts } from '../../text/plan'
import { CodeText } from '../code-text'
import { Badge } from '../facts'
import { Foreign } from '../foreign'
import { Icon } from '../icon'
import { findingsOf, stepsOf, type Finding, type Step } from './steps'

/** Indentation of a step, in pixels. */
const INDENT = 18
/** Depth from which steps are not moved further, so that names stay readable. */
const MAX_INDENTED = 12

interface Props {
  readonly explained: Explained
  readonly actions?: ComponentChildren
}

/** A plan as a tree of steps, with what was found in it on top and its text beside it. */
export function Plan({ explained, actions }: Props) {
  const id = useId()
  const steps = useMemo(() => stepsOf(explained.nodes), [explained])
  const findings = useMemo(() => findingsOf(explained), [explained])
  const isMeasured = steps.some(({ node }) => node.ms !== null)
  const total = Math.max(0, ...steps.filter(({ depth }) => depth === 0).map(({ node }) => node.ms ?? 0))
  const stepId = (step: number): string => `${id}-step-${step}`
  return (
    <div class="plan" role="region" aria-label={texts.title} tabIndex={0}>
      <div class="plan-head">
        <p>{isMeasured ? texts.total(total, steps.length) : texts.notRun}</p>
        {actions}
      </div>
      {isMeasured && <Findings findings={findings} stepId={stepId} />}
      <div class="plan-body">
        {steps.length > 0 && (
          <div class="plan-scroll">
            <table class="plan-steps">
              <caption class="spoken">{texts.title}</caption>
              <thead>
                <tr>
                  <th scope="col">{texts.step}</th>
                  {isMeasured && <th scope="col">{texts.time}</th>}
                  <th scope="col">{texts.rows}</th>
                  {isMeasured && <th scope="col">{texts.blocks}</th>}
                </tr>
              </thead>
              <tbody>
                {steps.map((step) => (
                  <StepRow key={step.number} step={step} id={stepId(step.number)} isMeasured={isMeasured} />
                ))}
              </tbody>
            </table>
          </div>
        )}
        <div class="plan-text">
          <h2>{texts.text}</h2>
          <CodeText text={explained.plan} label={texts.text} />
        </div>
      </div>
    </div>
  )
}

function Findings({ findings, stepId }: { findings: readonly Finding[]; stepId: (step: number) => string }) {
  if (findings.length === 0) {
    return (
      <p class="plan-clean">
        <Icon name="check" size={16} /> {texts.noFindings}
      </p>
    )
  }
  return (
    <section aria-label={texts.findings}>
      <ul class="plan-findings">
        {findings.map(({ issue, advice, steps }) => (
          <li key={issue}>
            <Icon name="warning" size={16} />
            <div>
              <p class="plan-issue">
                <Foreign text={issue} />{' '}
                {steps.map((step) => (
                  <button key={step} type="button" class="link" onClick={() => reveal(stepId(step))}>
                    {texts.toStep(step)}
                  </button>
                ))}
              </p>
              {advice && <p class="muted">{advice}</p>}
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

function reveal(id: string): void {
  const row = document.getElementById(id)
  row?.scrollIntoView({ block: 'nearest' })
  row?.focus()
}

function StepRow({
  step,
  id,
  isMeasured,
}: {
  readonly step: Step
  readonly id: string
  readonly isMeasured: boolean
}) {
  const { node, depth, number, share } = step
  const indent = `${Math.min(depth, MAX_INDENTED) * INDENT}px`
  return (
    <tr id={id} tabIndex={-1} class={node.findings.length > 0 ? 'has-finding' : ''}>
      <th scope="row">
        <span class="plan-label" style={{ paddingInlineStart: indent }}>
          <span class="plan-number" aria-hidden="true">
            {number}
          </span>
          <span class="mono">
            <Foreign text={node.label} />
          </span>
        </span>
      </th>
      {isMeasured && (
        <td class="plan-time">
          {node.loops === 0 ? (
            <span class="muted">{texts.neverRun}</span>
          ) : (
            <>
              <span class="plan-bar" aria-hidden="true">
                <span style={{ inlineSize: `${share * 100}%` }} />
              </span>
              {texts.share(Math.max(0, node.own_ms ?? 0), share)}
            </>
          )}
        </td>
      )}
      <td>
        <RowCounts step={step} />
      </td>
      {isMeasured && (
        <td>
          <span class="plan-blocks">
            {(node.hit !== null || node.read !== null) && (
              <span>{texts.blocksOf(node.hit ?? 0, node.read ?? 0)}</span>
            )}
            {(node.batches ?? 0) > 1 && <Badge kind="warn">{texts.batches(node.batches ?? 0)}</Badge>}
            {node.sorted_on_disk && <Badge kind="warn">{texts.onDisk}</Badge>}
          </span>
        </td>
      )}
    </tr>
  )
}

function RowCounts({ step: { node, misjudged } }: { readonly step: Step }) {
  const { rows, rows_planned, loops } = node
  return (
    <span class="plan-rows">
      {rows !== null && <span>{texts.actual(rows)}</span>}
      {rows_planned !== null && <span class="muted">{texts.planned(rows_planned)}</span>}
      {(loops ?? 0) > 1 && <span class="muted">{texts.loops(loops ?? 0)}</span>}
      {misjudged && (
        <Badge kind="warn" icon="warning">
          {texts.misjudged(misjudged.factor, misjudged.more)}
        </Badge>
      )}
    </span>
  )
}
