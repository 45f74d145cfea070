import { useMemo, useState } from 'preact/hooks'
import { Banner, ProblemBanner } from '../parts/banner'
import { Button } from '../parts/button'
import { Foreign } from '../parts/foreign'
import { LinkDialog } from '../parts/link-dialog'
import { Markdown } from '../parts/markdown'
import { copy } from '../parts/toast'
import { rag as text } from '../text/rag'
import { AnswerWords } from './answer-words'
import { ask, running, type Turn } from './dialogue'
import { withSigns } from './marks'
import { showPassage } from './show-passage'
import { Times } from './times'

/** A question and its answer. */
export function TurnView({ turn }: { turn: Turn }) {
  const [link, setLink] = useState<string | null>(null)
  const { question, answer, citations, index, state, debug } = turn
  const signed = useMemo(() => withSigns(answer, citations), [answer, citations])
  const hooks = { onLink: setLink, words: (words: string) => <AnswerWords turn={turn} words={words} index={index} /> }
  const isOpen = state === 'searching' || state === 'answering'
  return (
    <article class="rag-turn" aria-label={question.slice(0, 80)} aria-busy={isOpen}>
      <div class="rag-question">
        <span class="spoken">{text.you}: </span>
        <Foreign text={question} />
      </div>
      {answer && <Markdown source={signed} hooks={hooks} />}
      {isOpen && <p class="muted rag-waiting">{state === 'searching' ? text.searching : text.answering}…</p>}
      <End turn={turn} />
      {!isOpen && (
        <footer class="rag-turn-foot">
          {turn.sources && turn.sources.length > 0 && (
            <Button kind="quiet" icon="document" onClick={() => showPassage({ turn: turn.id, passage: -1, place: null, quote: null })}>
              {text.openPassages(turn.sources.length)}
            </Button>
          )}
          {answer && (
            <Button kind="quiet" icon="copy" onClick={() => copy(answer)}>
              {text.copy}
            </Button>
          )}
          <span class="muted">{text.facts(turn.firstMs, turn.ms, debug?.prompt?.tokens ?? null)}</span>
        </footer>
      )}
      {debug && <Times debug={debug} />}
      {link && <LinkDialog address={link} onClose={() => setLink(null)} />}
    </article>
  )
}

function End({ turn: { state, problem, dropped, notice, question } }: { turn: Turn }) {
  if (state === 'failed') return <ProblemBanner title={text.failed} problem={problem} {...(running.value === null && { onRetry: () => void ask(question) })} />
  if (state === 'stopped') return <Banner>{text.stopped}</Banner>
  return (
    <>
      {notice && (
        <Banner>
          <Foreign text={notice} />
        </Banner>
      )}
      {dropped > 0 && <p class="muted">{text.dropped(dropped)}</p>}
    </>
  )
}
