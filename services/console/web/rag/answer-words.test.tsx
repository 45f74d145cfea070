// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, expect, test } from 'vitest'
import type { Citation } from '../api/rag'
import { AnswerWords } from './answer-words'
import type { Turn } from './dialogue'
import { withSigns } from './marks'

afterEach(() => act(() => render(null, document.body)))

const TURN: Turn = {
  id: 1,
  pipeline: { name: 'docs', description: '', hybrid: true, keyless: false, sources: true, top_n: 5 },
  question: 'What does moss like?',
  state: 'done',
  answer: 'Moss likes rain [1] and stones [2].',
  citations: [],
  sources: null,
  index: null,
  debug: null,
  dropped: 0,
  notice: null,
  problem: null,
  firstMs: null,
  ms: 0,
}

const CITATIONS: Citation[] = [
  { marker: 1, title: 'Ferns', start: 16, end: 19, quote: 'Ferns like shade.', supported: false },
  { marker: 2, title: 'Moss', start: 31, end: 34, quote: 'Moss likes stones.' },
]

function links() {
  const turn = { ...TURN, citations: CITATIONS }
  act(() => render(<AnswerWords turn={turn} words={withSigns(turn.answer, CITATIONS)} index={null} />, document.body))
  return [...document.body.querySelectorAll('a')]
}

test('a citation that its passage does not support says so in its text and in its name', () => {
  const [doubtful, right] = links()
  expect(document.body.textContent).toBe('Moss likes rain [1] not supported and stones [2].')
  expect(doubtful?.getAttribute('aria-label')).toBe('Passage 1: Ferns, not supported')
  expect(right?.getAttribute('aria-label')).toBe('Passage 2: Moss')
})

test('the quote of such a citation says why', () => {
  HTMLElement.prototype.showPopover = () => {}
  const [doubtful, right] = links()
  act(() => right?.focus())
  const quote = () => document.body.querySelector('[role=tooltip]')?.textContent
  expect(quote()).toBe('MossMoss likes stones.')
  act(() => right?.blur())
  act(() => doubtful?.focus())
  expect([...document.body.querySelectorAll('[role=tooltip]')].map((tooltip) => tooltip.textContent)).toContain(
    'FernsAnother passage has more words of this claim. The citation is probably wrong.Ferns like shade.',
  )
})
