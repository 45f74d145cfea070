import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Citation } from '../api/rag'
import { Badge } from '../parts/facts'
import { place } from '../parts/floating'
import { Foreign } from '../parts/foreign'
import { rag as text } from '../text/rag'
import type { Turn } from './dialogue'
import { type PassageIndex, piecesOf, placeOf } from './marks'
import { passageId, showPassage } from './show-passage'

/** Words of an answer, with the marks of its citations and the runs that stand in a passage linked to them. */
export function AnswerWords({ turn, words, index }: { turn: Turn; words: string; index: PassageIndex | null }) {
  return (
    <>
      {piecesOf(words, index).map((piece, at) => {
        if ('citation' in piece) {
          const citation = turn.citations[piece.citation]
          return citation ? <CitationMark key={at} turn={turn} citation={citation} /> : null
        }
        if (!('passage' in piece)) return <Foreign key={at} text={piece.text} />
        const { passage, from, to } = piece
        return (
          <a
            key={at}
            class="rag-run"
            href={`#${passageId(turn.id, passage)}`}
            aria-description={text.run(passage + 1)}
            onClick={(event) => {
              event.preventDefault()
              showPassage({ turn: turn.id, passage, place: { from, to }, quote: null })
            }}
          >
            <Foreign text={piece.text} />
          </a>
        )
      })}
    </>
  )
}

/** Milliseconds after which the quote goes, so that a pointer can get into it. */
const LEAVING = 150

/** The mark of a citation. Pointer and focus show its quote at once; pressing it opens the passage. */
function CitationMark({ turn, citation }: { turn: Turn; citation: Citation }) {
  const id = useId()
  const link = useRef<HTMLAnchorElement>(null)
  const panel = useRef<HTMLSpanElement>(null)
  const leaving = useRef<ReturnType<typeof setTimeout>>(undefined)
  const [open, setOpen] = useState(false)
  const { marker, quote, title = '' } = citation
  const doubtful = citation.supported === false
  useEffect(() => () => clearTimeout(leaving.current), [])
  useEffect(() => {
    const [own, anchor] = [panel.current, link.current]
    if (!open || !own || !anchor) return
    own.showPopover()
    place(own, anchor)
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && setOpen(false)
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [open])
  const show = () => {
    clearTimeout(leaving.current)
    setOpen(true)
  }
  const hide = () => {
    leaving.current = setTimeout(() => setOpen(false), LEAVING)
  }
  const choose = (event: MouseEvent) => {
    event.preventDefault()
    setOpen(false)
    const content = turn.sources?.[marker - 1]?.content
    showPassage({ turn: turn.id, passage: marker - 1, place: content ? placeOf(quote, content) : null, quote })
  }
  return (
    <>
      <a
        ref={link}
        class="rag-mark-link"
        href={`#${passageId(turn.id, marker - 1)}`}
        aria-label={doubtful ? `${text.citation(marker, title)}, ${text.unsupported}` : text.citation(marker, title)}
        {...(open && { 'aria-describedby': id })}
        onPointerEnter={show}
        onPointerLeave={hide}
        onFocus={show}
        onBlur={hide}
        onClick={choose}
      >
        [{marker}]
      </a>
      {doubtful && (
        // The name of the link says it, too.
        <span aria-hidden="true">
          {' '}
          <Badge kind="warn">{text.unsupported}</Badge>
        </span>
      )}
      {open && (
        <span ref={panel} id={id} class="rag-quote" role="tooltip" popover="manual" onPointerEnter={show} onPointerLeave={hide}>
          <strong>
            <Foreign text={title || text.untitled(marker, citation.id)} />
          </strong>
          {doubtful && <em>{text.unsupportedText}</em>}
          <Foreign text={quote} />
        </span>
      )}
    </>
  )
}
