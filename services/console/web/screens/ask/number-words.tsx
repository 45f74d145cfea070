import type { ComponentChild } from 'preact'
import { Foreign } from '../../parts/foreign'
import { ask as text } from '../../text/ask'

const NUMBERS = /\d[\d,]*(?:\.\d+)?/g

/** Words, with numbers linked to the cells of results that they stand in. */
export function NumberWords({ words, cellOf }: { words: string; cellOf: (number: string) => (() => void) | null }) {
  const parts: ComponentChild[] = []
  let from = 0
  for (const match of words.matchAll(NUMBERS)) {
    const show = match[0].length > 1 ? cellOf(match[0]) : null
    if (!show) continue
    if (match.index > from) parts.push(<Foreign text={words.slice(from, match.index)} />)
    parts.push(
      <button type="button" class="number-link" aria-label={text.cell(match[0])} onClick={show}>
        {match[0]}
      </button>,
    )
    from = match.index + match[0].length
  }
  if (from < words.length) parts.push(<Foreign text={words.slice(from)} />)
  return <>{parts}</>
}
