import { computed, signal } from '@preact/signals'
import { type Citation, type DebugDetails, offer, type Offer, type PipelineOffer, question, type RagQuestion, type Source } from '../api/rag'
import { wasStopped } from '../api/problem'
import { painter } from '../parts/painter'
import { indexOf, type PassageIndex } from './marks'
import { questionOf, type Settings, START } from './request'

/** A question with its answer, as far as it has arrived. */
export interface Turn {
  id: number
  pipeline: PipelineOffer
  question: string
  state: 'searching' | 'answering' | 'done' | 'failed' | 'stopped'
  answer: string
  citations: readonly Citation[]
  /** The passages that were found; null if the server has not sent them. */
  sources: readonly Source[] | null
  index: PassageIndex | null
  debug: DebugDetails | null
  dropped: number
  notice: string | null
  problem: unknown
  /** Milliseconds until the passages, and until the end. */
  firstMs: number | null
  ms: number
}

/** The offer of the server; null until it is known. */
export const offered = signal<Offer | null>(null)

/** Failure of the request for it. */
export const offerProblem = signal<unknown>(null)

/** Name of the chosen pipeline. */
export const chosen = signal('')

export const pipeline = computed<PipelineOffer | null>(() => offered.value?.pipelines.find(({ name }) => name === chosen.value) ?? null)

export const settings = signal<Settings>(START)

/** The question that is being written. */
export const draft = signal('')

/** The questions of this tab and their answers. They are kept nowhere else. */
export const turns = signal<readonly Turn[]>([])

/** Is set while an answer arrives. */
export const running = signal<AbortController | null>(null)

/** The passage that is shown: where a citation or a run leads to. */
export interface Shown {
  turn: number
  passage: number
  /** Place of the words in the passage, if they stand there as they are. */
  place: { from: number; to: number } | null
  quote: string | null
}

export const shown = signal<Shown | null>(null)

/** Id of the turn whose passages are listed; the last one if none is chosen. */
export const listed = computed(() => {
  const id = shown.value?.turn
  return turns.value.find((turn) => turn.id === id) ?? turns.value.at(-1) ?? null
})

/** Reads the pipelines that this caller may ask. */
export async function start(): Promise<void> {
  offerProblem.value = null
  try {
    const found = await offer()
    offered.value = found
    if (!found.pipelines.some(({ name }) => name === chosen.peek())) choose(found.pipelines[0]?.name ?? '')
  } catch (problem) {
    offered.value = null
    offerProblem.value = problem
  }
}

/** Chooses a pipeline. What was said before is not about its tables. */
export function choose(name: string): void {
  if (name === chosen.peek()) return
  chosen.value = name
  startOver()
}

/** Forgets all questions and answers. */
export function startOver(): void {
  running.peek()?.abort()
  turns.value = []
  shown.value = null
}

/** The messages that a follow-up is sent with. */
export const before = (): NonNullable<RagQuestion['messages']> =>
  turns.peek().flatMap((turn) =>
    turn.state === 'done'
      ? [
          { role: 'user' as const, content: turn.question },
          { role: 'assistant' as const, content: turn.answer },
        ]
      : [],
  )

let next = 1

/** Asks the chosen pipeline. */
export async function ask(words: string): Promise<void> {
  const of = pipeline.peek()
  if (!of || running.peek() || !words.trim()) return
  const body = questionOf(words, settings.peek(), of, before())
  const own = new AbortController()
  running.value = own
  shown.value = null
  const began = performance.now()
  let turn: Turn = { id: next++, pipeline: of, question: words, state: 'searching', answer: '', citations: [], sources: null, index: null, debug: null, dropped: 0, notice: null, problem: null, firstMs: null, ms: 0 }
  turns.value = [...turns.peek(), turn]
  const painted = painter(() => {
    turns.value = turns.peek().map((other) => (other.id === turn.id ? turn : other))
  })
  const update = (change: Partial<Turn>) => {
    turn = { ...turn, ...change, ms: performance.now() - began }
    painted.soon()
  }
  try {
    for await (const event of question(of.name, body, own.signal)) {
      switch (event.type) {
        case 'sources':
          update({ sources: event.sources, index: indexOf(event.sources.map(({ content }) => content)), firstMs: performance.now() - began, state: 'answering' })
          break
        case 'chunk':
          update({ answer: turn.answer + event.content, state: 'answering' })
          break
        case 'citation':
          update({ citations: [...turn.citations, event] })
          break
        case 'debug':
          update({ debug: event })
          break
        case 'done':
          update({ state: 'done', dropped: event.dropped_citations ?? 0, notice: event.notice ?? null })
          break
        case 'error':
          update({ state: 'failed', problem: event.error })
      }
    }
  } catch (problem) {
    update(wasStopped(problem) ? { state: 'stopped' } : { state: 'failed', problem })
  } finally {
    painted.now()
    if (running.peek() === own) running.value = null
  }
}
