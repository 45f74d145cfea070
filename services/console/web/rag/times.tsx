import type { DebugDetails } from '../api/rag'
import { Foreign } from '../parts/foreign'
import { duration } from '../text/format'
import { rag as text } from '../text/rag'

/** Details of an answer: the time of each stage, and the size of what the model got. */
export function Times({ debug: { milliseconds, rewritten_query, prompt } }: { debug: DebugDetails }) {
  const stages = Object.entries(milliseconds).filter((stage): stage is [string, number] => typeof stage[1] === 'number')
  const longest = Math.max(1, ...stages.map(([, time]) => time))
  return (
    <details class="rag-times">
      <summary class="muted">{text.times}</summary>
      <dl>
        {rewritten_query !== undefined && (
          <div>
            <dt>{text.rewritten}</dt>
            <dd>
              <Foreign text={rewritten_query} />
            </dd>
          </div>
        )}
        {stages.map(([stage, time]) => (
          <div key={stage}>
            <dt>{text.stages[stage] ?? stage}</dt>
            <dd>
              <span class="rag-bar" style={{ '--share': time / longest }} aria-hidden="true" />
              {duration(time)}
            </dd>
          </div>
        ))}
        {prompt && (
          <div>
            <dt>{text.prompt}</dt>
            <dd>{text.promptOf(prompt.documents, prompt.tokens)}</dd>
          </div>
        )}
      </dl>
    </details>
  )
}
