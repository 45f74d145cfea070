import { signal } from '@preact/signals'
import type { ChatMessage } from '../../api/chat'
import { conversation, keep, replaceMessages } from '../../api/conversations'
import { painter } from '../../parts/painter'
import { ask as text } from '../../text/ask'
import { answer, type Confirmation, runTool, type Surroundings, type Tool } from './loop'
import { fromKept, newTurn, type Step, toKeep, type Turn } from './turns'

/** The conversation of this tab. */
export const turns = signal<readonly Turn[]>([])

/** Id of the conversation at the server; empty while it is not kept. */
export const keptId = signal('')

/** The question that is being written. */
export const draft = signal('')

/** Puts a text behind what is written. It is never sent by itself. */
export function insert(text: string): void {
  const before = draft.peek().trimEnd()
  draft.value = before ? `${before}\n\n${text}` : text
}

/** Is set while a model answers or a statement runs. */
export const running = signal<AbortController | null>(null)

/** A write that waits for the person. */
export const confirming = signal<{ what: Confirmation; resolve: (agreed: boolean) => void } | null>(null)

/** Sentence about a conversation that could not be kept. */
export const keepProblem = signal<unknown>(null)

/** Choices of the person for the next question. */
export interface Choices {
  provider: string
  model: string
  database: string
  tools: Tool[]
  /** Is true if the server keeps conversations of this caller. */
  keeps: boolean
}

/** Begins an empty conversation. */
export function startNew(): void {
  running.peek()?.abort()
  turns.value = []
  keptId.value = ''
  keepProblem.value = null
}

/** Opens a conversation that the server keeps. */
export async function openKept(id: string): Promise<void> {
  if (keptId.peek() === id) return
  running.peek()?.abort()
  const found = await conversation(id)
  turns.value = fromKept(found.messages)
  keptId.value = id
}

/** Asks a question. */
export async function askQuestion(question: string, choices: Choices): Promise<void> {
  await run(newTurn(question, choices.provider, choices.model), choices)
}

/** Lets the model go on with a turn that has used tools too often. */
export const goOn = (turn: Turn, choices: Choices): Promise<void> => run(turn, choices)

/** Asks the question of a turn again; the answer before stays, folded. */
export async function askAgain(turn: Turn, choices: Choices): Promise<void> {
  const { earlier, ...rest } = turn
  await run({ ...newTurn(turn.question, choices.provider, choices.model), id: turn.id, earlier: [...earlier, { ...rest, earlier: [] }] }, choices)
}

/** Runs a statement that the person has changed, as a step of the turn. */
export async function runEdited(turn: Turn, step: Step, statement: string, user: string, choices: Choices): Promise<void> {
  await busy(turn, async (around) => {
    const id = `${step.id}-${Date.now()}`
    await runTool(id, step.tool, { ...step.input, query: statement }, { ...around, database: step.database }, (made) => {
      const current = turns.peek().find((other) => other.id === turn.id)
      if (!current) return
      const known = current.parts.some((part) => part.kind === 'step' && part.step.id === id)
      const parts = known ? current.parts.map((part) => (part.kind === 'step' && part.step.id === id ? { kind: 'step' as const, step: made } : part)) : [...current.parts, { kind: 'step' as const, step: made }]
      around.show({ ...current, parts })
    }, user)
  }, choices)
  await store(choices)
}

/** Lets the model answer from the result of a changed statement. */
export async function answerFrom(turn: Turn, step: Step, choices: Choices): Promise<void> {
  const said: ChatMessage = { role: 'user', content: text.statementChanged(String(step.input.query), step.text) }
  await run({ ...turn, messages: [...turn.messages, said] }, choices)
}

async function run(turn: Turn, choices: Choices): Promise<void> {
  const known = turns.peek().findIndex(({ id }) => id === turn.id)
  const before = turns.peek().slice(0, known < 0 ? undefined : known).flatMap(({ messages }) => messages)
  if (known < 0) turns.value = [...turns.peek(), turn]
  await busy(turn, (around) => answer(turn, before, choices.tools, around), choices)
  await store(choices)
}

async function busy(turn: Turn, work: (around: Surroundings) => Promise<unknown>, { database }: Choices): Promise<void> {
  running.peek()?.abort()
  const own = new AbortController()
  running.value = own
  let latest = turn
  const painted = painter(() => {
    turns.value = turns.peek().map((other) => (other.id === turn.id ? latest : other))
  })
  try {
    await work({
      database,
      signal: own.signal,
      show: (made) => {
        latest = made
        painted.soon()
      },
      confirm: (what) =>
        new Promise((resolve) => {
          own.signal.addEventListener('abort', () => decide(false))
          confirming.value = { what, resolve }
        }),
    })
  } catch {
    // A statement that was stopped is shown as that by its step.
  } finally {
    painted.now()
    if (running.peek() === own) running.value = null
  }
}

/** Answers the question whether a write may run. */
export function decide(agreed: boolean): void {
  confirming.peek()?.resolve(agreed)
  confirming.value = null
}

async function store({ keeps, provider, model, database }: Choices): Promise<void> {
  if (!keeps) return
  const body = { connection: database, provider, model, messages: toKeep(turns.peek()) }
  try {
    if (keptId.peek()) await replaceMessages(keptId.peek(), body)
    else keptId.value = (await keep(body)).id
    keepProblem.value = null
  } catch (problem) {
    keepProblem.value = problem
  }
}
