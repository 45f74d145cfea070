import { useMemo, useState } from 'preact/hooks'
import { Problem } from '../../api/problem'
import { Banner, ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { Foreign } from '../../parts/foreign'
import { LinkDialog } from '../../parts/link-dialog'
import { Markdown } from '../../parts/markdown'
import { copy } from '../../parts/toast'
import { ask as text } from '../../text/ask'
import { answerFrom, askAgain, type Choices, goOn, runEdited, running } from './dialogue'
import { MOST_ROUNDS } from './loop'
import { NumberWords } from './number-words'
import { cellFinder } from './step-result'
import { StepView } from './step-view'
import { answerOf, stepsOf, type Turn } from './turns'

/** A question, the steps to its answer, and the answer. */
export function TurnView({ turn, user, choices }: { turn: Turn; user: string; choices: Choices }) {
  const [link, setLink] = useState<string | null>(null)
  const steps = stepsOf(turn)
  const busy = running.value !== null
  const hooks = useMemo(() => {
    const cellOf = cellFinder(steps)
    return { onLink: setLink, words: (words: string) => <NumberWords words={words} cellOf={cellOf} /> }
  }, steps)
  let number = 0
  return (
    <article class="turn" aria-label={turn.question.slice(0, 80)}>
      {turn.folded > 0 && <p class="turn-folded muted">{text.folded(turn.folded)}</p>}
      <div class="turn-question">
        <span class="spoken">{text.you}: </span>
        <Foreign text={turn.question} />
      </div>
      {turn.earlier.map((earlier, at) => (
        <details key={at} class="turn-earlier">
          <summary class="muted">
            {text.earlierAnswer} · {earlier.model}
          </summary>
          <Markdown source={answerOf(earlier)} hooks={hooks} />
        </details>
      ))}
      <div class="turn-answer">
        {turn.parts.map((part, at) =>
          part.kind === 'text' ? (
            <Markdown key={at} source={part.text} hooks={hooks} />
          ) : (
            <StepView
              key={part.step.id}
              step={part.step}
              number={number++}
              busy={busy}
              onRun={(statement) => void runEdited(turn, part.step, statement, user, choices)}
              onAnswer={part.step.editedBy && part.step.state === 'done' ? () => void answerFrom(turn, part.step, choices) : undefined}
            />
          ),
        )}
        <TurnEnd turn={turn} choices={choices} />
      </div>
      {turn.state !== 'answering' && (
        <footer class="turn-foot">
          <Button kind="quiet" icon="copy" onClick={() => copy(answerOf(turn))}>
            {text.copy}
          </Button>
          <Button kind="quiet" icon="reload" disabled={busy} onClick={() => void askAgain(turn, choices)}>
            {text.again}
          </Button>
          <span class="muted turn-facts">
            {[steps.length && text.steps(steps.length), turn.milliseconds && text.took(turn.milliseconds), turn.tokens && text.tokens(turn.tokens), turn.model].filter(Boolean).join(' · ')}
          </span>
        </footer>
      )}
      {link && <LinkDialog address={link} onClose={() => setLink(null)} />}
    </article>
  )
}

function TurnEnd({ turn, choices }: { turn: Turn; choices: Choices }) {
  if (turn.state === 'answering') return <p class="turn-waiting muted">{turn.preparing ? text.preparing(turn.preparing) : text.answering}…</p>
  if (turn.state === 'stopped') return <Banner>{text.stopped}</Banner>
  if (turn.state === 'limit') {
    return (
      <Banner kind="warn" actions={<Button onClick={() => void goOn(turn, choices)}>{text.goOn}</Button>}>
        {text.limit(MOST_ROUNDS)}
      </Banner>
    )
  }
  if (turn.state === 'failed') {
    const wait = turn.problem instanceof Problem ? turn.problem.retryAfter : null
    return (
      <>
        <ProblemBanner problem={turn.problem ?? text.failedStep} onRetry={() => void askAgain(turn, choices)} />
        {wait !== null && <p class="muted">{text.waitAndRetry(wait)}</p>}
      </>
    )
  }
  return turn.stopReason === 'max_tokens' ? <Banner kind="warn">{text.truncated}</Banner> : null
}
