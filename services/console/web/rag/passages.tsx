import { useEffect, useRef, useState } from 'preact/hooks'
import type { Source } from '../api/rag'
import { Button } from '../parts/button'
import { Badge, Empty } from '../parts/facts'
import { Foreign } from '../parts/foreign'
import { LinkDialog } from '../parts/link-dialog'
import { Loading } from '../parts/loading'
import { rag as text } from '../text/rag'
import { listed, shown, type Shown, type Turn } from './dialogue'
import { type Scores, scoresOf } from './scores'
import { passageId } from './show-passage'

/** The passages of an answer, best first. */
export function Passages() {
  const turn = listed.value
  const [link, setLink] = useState<string | null>(null)
  if (!turn) return <Empty icon="document" title={text.noPassages} />
  const { sources, debug } = turn
  return (
    <div class="passage-list">
      <header class="passages-head">
        <h2>{text.passages}</h2>
        {sources && sources.length > 0 && <span class="muted">{debug?.prompt ? text.passagesOf(debug.prompt.documents, sources.length) : text.passagesFound(sources.length)}</span>}
      </header>
      {!sources && <Without turn={turn} />}
      {sources?.length === 0 && <p class="muted">{text.nothingFound}</p>}
      <ol>
        {sources?.map((source, at) => (
          <Passage key={`${turn.id}-${at}`} id={passageId(turn.id, at)} at={at} source={source} scores={scoresOf(source, debug)} shown={shown.value?.turn === turn.id && shown.value.passage === at ? shown.value : null} onLink={setLink} />
        ))}
      </ol>
      {link && <LinkDialog address={link} onClose={() => setLink(null)} />}
    </div>
  )
}

function Without({ turn }: { turn: Turn }) {
  if (turn.state === 'searching' || turn.state === 'answering') return turn.pipeline.sources ? <Loading lines={6} /> : <p class="muted">{text.notShared}</p>
  return <p class="muted">{turn.pipeline.sources ? text.nothingFound : text.notShared}</p>
}

/** Characters of a passage that are shown before it is opened. */
const BEGINNING = 320

interface Props {
  id: string
  at: number
  source: Source
  scores: Scores | null
  shown: Shown | null
  onLink: (address: string) => void
}

function Passage({ id, at, source, scores, shown: here, onLink }: Props) {
  const [open, setOpen] = useState(false)
  const element = useRef<HTMLLIElement>(null)
  const { title, url, content, score } = source
  const whole = open || here !== null
  const address = url && URL.canParse(url) && new URL(url).protocol === 'https:' ? new URL(url).href : null
  useEffect(() => {
    if (!here) return
    const mark = element.current?.querySelector('mark') ?? element.current
    mark?.scrollIntoView({ block: 'center' })
    element.current?.focus({ preventScroll: true })
  }, [here])
  return (
    <li ref={element} id={id} class={`rag-passage ${here ? 'is-shown' : ''} ${scores?.used === false ? 'is-unused' : ''}`} tabIndex={-1} aria-label={text.citation(at + 1, title ?? '')}>
      <div class="rag-passage-head">
        <span class="rag-passage-number">{at + 1}</span>
        <strong class="rag-passage-title">
          <Foreign text={title || text.untitled(at + 1, source.id)} />
        </strong>
        <span class="muted rag-passage-score" title={text.scoreName}>
          <span class="spoken">{text.scoreName} </span>
          {text.score(score)}
        </span>
      </div>
      {scores && <ScoreLine scores={scores} />}
      {here?.quote && !here.place && (
        <p class="rag-passage-quote">
          {text.quote}: <mark><Foreign text={here.quote} /></mark>
        </p>
      )}
      <p class="rag-passage-text">
        <Marked text={whole || content.length <= BEGINNING ? content : `${content.slice(0, BEGINNING).trimEnd()}…`} place={here?.place ?? null} />
      </p>
      <div class="button-row">
        {content.length > BEGINNING && !here && (
          <Button kind="quiet" class="small" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? text.less : text.whole}
          </Button>
        )}
        {address && (
          <Button kind="quiet" class="small" icon="link" onClick={() => onLink(address)}>
            {text.openSource}
          </Button>
        )}
        {url && !address && (
          <span class="muted">
            <Foreign text={url} />
          </span>
        )}
      </div>
    </li>
  )
}

function Marked({ text: words, place }: { text: string; place: Shown['place'] }) {
  if (!place) return <Foreign text={words} />
  return (
    <>
      <Foreign text={words.slice(0, place.from)} />
      <mark>
        <Foreign text={words.slice(place.from, place.to)} />
      </mark>
      <Foreign text={words.slice(place.to)} />
    </>
  )
}

function ScoreLine({ scores: { vector, keyword, rerank, used } }: { scores: Scores }) {
  const said = [
    vector ? text.meaning(vector.score, vector.rank) : text.notFound.meaning,
    keyword ? text.words(keyword.score, keyword.rank) : text.notFound.words,
    rerank && text.rerank(rerank.score, rerank.rank),
  ]
  return (
    <p class="rag-passage-scores muted">
      {said.filter(Boolean).join(' · ')} {!used && <Badge kind="warn">{text.notUsed}</Badge>}
    </p>
  )
}
