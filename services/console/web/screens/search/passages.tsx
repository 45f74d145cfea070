import { IconButton } from '../../parts/button'
import { CodeText } from '../../parts/code-text'
import { Empty } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { copy } from '../../parts/toast'
import { search as text } from '../../text/search'
import { marked } from './marks'
import type { Found, Passage } from './search-call'

/** Passages, best first, with the words of the question marked. */
export function Passages({ found, question }: { found: Found; question: string }) {
  const { passages, rows, milliseconds } = found
  return (
    <div class="passages">
      <p class="passages-count" role="status">
        {rows === null ? text.passages(passages.length) : text.passagesOf(passages.length, rows)} <span class="muted">· {text.took(milliseconds)}</span>
      </p>
      {passages.length === 0 && <Empty icon="search" title={text.none} />}
      <ol class="passage-list">
        {passages.map((passage, at) => (
          <PassageView key={at} passage={passage} question={question} />
        ))}
      </ol>
      {found.text && (
        <details class="passages-text">
          <summary>{text.text}</summary>
          <CodeText text={found.text} label={text.text} />
        </details>
      )}
    </div>
  )
}

function PassageView({ passage: { text: words, score, path, id, rank }, question }: { passage: Passage; question: string }) {
  return (
    <li class="passage">
      <div class="passage-score">
        <span class="spoken">{text.score} </span>
        <span class="mono">{score.toFixed(2)}</span>
        <span class="passage-bar" style={{ '--share': Math.max(0, Math.min(1, score)) }} />
      </div>
      <div class="passage-body">
        <p class="passage-path">
          <span>
            {path.map((part, at) => (
              <span key={at}>
                {at > 0 && <span class="muted"> › </span>}
                <Foreign text={part} />
              </span>
            ))}
          </span>
          {id !== null && (
            <span class="mono passage-row">
              <Foreign text={text.row(id)} />
            </span>
          )}
          {rank !== null && <span class="muted">{text.rank(rank)}</span>}
        </p>
        <p class="passage-text">
          {marked(words, question).map(({ text: piece, mark }, at) => (mark ? <mark key={at}>{piece}</mark> : <Foreign key={at} text={piece} />))}
        </p>
      </div>
      <IconButton icon="copy" name={text.copyPassage} tip="end" onClick={() => copy(words)} />
    </li>
  )
}
