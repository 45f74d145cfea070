import { expect, test } from 'vitest'
import type { Citation, RagEvent } from '../api/rag'
import { readEvents } from '../api/events'
import { indexOf, piecesOf, placeOf, withSigns } from './marks'

const cite = (marker: number, start: number, change: Partial<Citation> = {}): Citation => ({ marker, start, end: start + String(marker).length + 2, quote: '', ...change })
const linked = (answer: string, citations: Citation[]) => piecesOf(withSigns(answer, citations), null)

test('a mark is linked at its place, counted in characters, and no other bracket is', () => {
  const answer = '🐑 wool [1], not [2] or x[1].'
  expect(linked(answer, [cite(1, 7)])).toEqual([{ text: '🐑 wool ' }, { citation: 0 }, { text: ', not [2] or x[1].' }])
})

test('a citation whose place has another text is not linked', () => {
  for (const wrong of [cite(1, 6), cite(2, 5), cite(1, 5, { end: 9 }), cite(1, 900), cite(1, -3)]) {
    expect(linked('wool [1].', [wrong]), JSON.stringify(wrong)).toEqual([{ text: 'wool [1].' }])
  }
  expect(linked('wool [1].', [cite(1, 5), cite(1, 5)])).toEqual([{ text: 'wool ' }, { citation: 0 }, { text: '.' }])
})

test('a text that has the signs themselves makes no link', () => {
  expect(linked('a \uE0000\uE001 b', [])).toEqual([{ text: 'a \uFFFD0\uFFFD b' }])
})

const EVENTS: RagEvent[] = [
  { type: 'sources', sources: [{ content: 'Wash wool in cool water.', score: 1 }, { content: 'Dry it flät 🐑.', score: 0.5 }] },
  { type: 'chunk', content: 'Cool wäter 🐑' },
  { type: 'chunk', content: ' [1]' },
  { type: 'citation', ...cite(1, 13) },
  { type: 'chunk', content: '[2] and [9].' },
  { type: 'citation', ...cite(2, 16) },
  { type: 'done', dropped_citations: 0 },
]

test('a stream that is cut at any byte links its citations right or not at all', async () => {
  const bytes = new TextEncoder().encode(EVENTS.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
  const whole = await read([bytes])
  expect(whole.problem).toBe('')
  expect(whole.pieces).toEqual([{ text: 'Cool wäter 🐑 ' }, { citation: 0 }, { citation: 1 }, { text: ' and [9].' }])
  for (let cut = 0; cut < bytes.length; cut += 1) {
    // In two pieces it is the same.
    expect(await read([bytes.slice(0, cut), bytes.slice(cut)]), `cut at ${cut}`).toEqual(whole)
    // Broken off there, each link is one of the whole, and the end is said.
    const part = await read([bytes.slice(0, cut)])
    expect(part.problem, `broken off at ${cut}`).toBe('broke_off')
    for (const [at, piece] of part.pieces.entries()) {
      if ('citation' in piece) expect(part.before[at], `link at ${cut}`).toBe(whole.before[at])
    }
  }
})

async function read(parts: Uint8Array[]) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
  let answer = ''
  let problem = ''
  const citations: Citation[] = []
  try {
    for await (const event of readEvents<RagEvent>(new Response(body), ({ type }) => type === 'done')) {
      if (event.type === 'chunk') answer += event.content
      if (event.type === 'citation') citations.push(event)
    }
  } catch (error) {
    problem = (error as { code?: string }).code ?? String(error)
  }
  const pieces = linked(answer, citations)
  // The text before each link, for comparing places.
  let seen = ''
  const before = pieces.map((piece) => {
    const here = seen
    seen += 'citation' in piece ? `[${citations[piece.citation]?.marker}]` : piece.text
    return here
  })
  return { pieces, before, problem }
}

const passage = 'Wool is washed by hand in cool water, with little soap, and dried flat.'

test('eight words in a row that stand in a passage are linked to it, seven are not', () => {
  const index = indexOf(['Other words.', passage])
  const run = 'washed by hand in cool water with little'
  const pieces = piecesOf(`It was ${run}, says the book.`, index)
  expect(pieces).toMatchObject([{ text: 'It was ' }, { text: run, passage: 1 }, { text: ', says the book.' }])
  const found = pieces[1] as { from: number; to: number }
  expect(passage.slice(found.from, found.to)).toBe('washed by hand in cool water, with little')
  expect(piecesOf('It was washed by hand in cool water with care.', index)).toEqual([{ text: 'It was washed by hand in cool water with care.' }])
})

test('a run goes on as far as it is the same, whatever its case and signs', () => {
  const [only] = piecesOf(passage.toUpperCase().replaceAll(',', ''), indexOf([passage]))
  expect(only).toMatchObject({ passage: 0, from: 0, to: passage.length - 1 })
})

test('a quote is found in its passage also if lines are broken otherwise', () => {
  expect(placeOf('washed by hand', passage)).toEqual({ from: 8, to: 22 })
  const broken = passage.replace('hand in', 'hand\nin')
  expect(placeOf('by hand in cool', broken)).toEqual({ from: 15, to: 30 })
  expect(placeOf('never said', passage)).toBeNull()
})
