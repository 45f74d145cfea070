/** Marks of citations in an answer, and runs of its words that stand in a passage. */
import type { Citation } from '../api/rag'

// Around the place of a citation in its list, in a text that is about to become elements. A text of a model
// that has these characters of private use loses them before.
const OPEN = '\uE000'
const CLOSE = '\uE001'

/**
 * Replaces the marks of citations by signs for `piecesOf`.
 *
 * A citation counts only if its mark stands exactly at its place. All other brackets stay texts.
 */
export function withSigns(answer: string, citations: readonly Citation[]): string {
  const characters = Array.from(answer, (character) => (character === OPEN || character === CLOSE ? '\uFFFD' : character))
  const inOrder = citations.map((citation, at) => ({ ...citation, at })).sort((a, b) => a.start - b.start)
  const parts: string[] = []
  let from = 0
  for (const { marker, start, end, at } of inOrder) {
    if (start < from || characters.slice(start, end).join('') !== `[${marker}]`) continue
    parts.push(characters.slice(from, start).join(''), `${OPEN}${at}${CLOSE}`)
    from = end
  }
  parts.push(characters.slice(from).join(''))
  return parts.join('')
}

/** A piece of words: as they are, the place of a citation in its list, or words that stand in a passage. */
export type Piece = { text: string } | { citation: number } | { text: string; passage: number; from: number; to: number }

/** Cuts words at the signs of citations and at runs that stand in a passage. */
export function piecesOf(words: string, index: PassageIndex | null): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  const add = (text: string) => {
    if (text) pieces.push(...(index ? withRuns(text, index) : [{ text }]))
  }
  for (const match of words.matchAll(/\uE000(\d+)\uE001/g)) {
    add(words.slice(from, match.index))
    pieces.push({ citation: Number(match[1]) })
    from = match.index + match[0].length
  }
  add(words.slice(from))
  return pieces
}

/** Words of a run that is linked, at least. */
const RUN = 8

interface Word {
  word: string
  from: number
  to: number
}

const wordsOf = (text: string): Word[] =>
  Array.from(text.matchAll(/[\p{L}\p{N}\p{M}]+/gu), ({ 0: word, index }) => ({ word: word.toLowerCase(), from: index, to: index + word.length }))

/** Places of runs of words in passages. */
export interface PassageIndex {
  passages: Word[][]
  /** The first place of each run of eight words. */
  runs: Map<string, { passage: number; at: number }>
}

/** Prepares passages for finding runs of their words. */
export function indexOf(passages: readonly string[]): PassageIndex {
  const index: PassageIndex = { passages: passages.map(wordsOf), runs: new Map() }
  index.passages.forEach((words, passage) => {
    for (let at = 0; at + RUN <= words.length; at += 1) {
      const key = keyOf(words, at)
      if (!index.runs.has(key)) index.runs.set(key, { passage, at })
    }
  })
  return index
}

const keyOf = (words: readonly Word[], at: number): string =>
  words
    .slice(at, at + RUN)
    .map(({ word }) => word)
    .join(' ')

function withRuns(text: string, { passages, runs }: PassageIndex): Piece[] {
  const words = wordsOf(text)
  const pieces: Piece[] = []
  let done = 0
  for (let at = 0; at + RUN <= words.length; ) {
    const found = runs.get(keyOf(words, at))
    const passage = found && passages[found.passage]
    if (!found || !passage) {
      at += 1
      continue
    }
    let length = RUN
    while (words[at + length] && words[at + length]?.word === passage[found.at + length]?.word) length += 1
    const [first, last] = [words[at], words[at + length - 1]]
    const [begin, end] = [passage[found.at], passage[found.at + length - 1]]
    if (first && last && begin && end) {
      if (first.from > done) pieces.push({ text: text.slice(done, first.from) })
      pieces.push({ text: text.slice(first.from, last.to), passage: found.passage, from: begin.from, to: end.to })
      done = last.to
    }
    at += length
  }
  if (done < text.length) pieces.push({ text: text.slice(done) })
  return pieces
}

/** Finds a quote in the text of its passage; null if it does not stand there as it is. */
export function placeOf(quote: string, content: string): { from: number; to: number } | null {
  const from = quote ? content.indexOf(quote) : -1
  if (from >= 0) return { from, to: from + quote.length }
  // Line breaks and spaces may differ.
  const [wanted, words] = [wordsOf(quote), wordsOf(content)]
  const [first] = wanted
  if (!first) return null
  for (let at = 0; at + wanted.length <= words.length; at += 1) {
    if (!wanted.every(({ word }, offset) => words[at + offset]?.word === word)) continue
    return { from: words[at]?.from ?? 0, to: words[at + wanted.length - 1]?.to ?? 0 }
  }
  return null
}
