import { Foreign } from '../../parts/foreign'
import { activity as text } from '../../text/activity'

/** A statement on one line, which unfolds to its whole text. */
export function StatementText({ statement }: { statement: string | null }) {
  if (statement === null) return <p class="statement-text muted">{text.noStatement}</p>
  const line = statement.replace(/\s+/g, ' ').trim()
  return (
    <details class="statement-text">
      <summary class="mono">
        <span class="spoken">{text.statement}: </span>
        <Foreign text={line.slice(0, SHOWN)} />
      </summary>
      <pre tabIndex={0} role="region" aria-label={text.statement}>
        <Foreign text={statement} />
      </pre>
    </details>
  )
}

/** Length of the folded text; the line ends before that at all widths. */
const SHOWN = 300
