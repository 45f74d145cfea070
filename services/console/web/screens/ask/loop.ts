import { ask, type Block, type ChatMessage, compact, type Question, textOf } from '../../api/chat'
import { exchange, MODERN, requestFor, result } from '../../api/mcp'
import { type Looked, UNSEEN } from '../../api/preview'
import { wasStopped } from '../../api/problem'
import type { Step, Turn } from './turns'

/** Rounds of tools after which the person is asked if it should go on. */
export const MOST_ROUNDS = 20

/** Length of a chat in characters, about 70,000 tokens, from which it is folded for the model. */
const LONG = 280_000

/** Largest result of a tool that a model gets, in characters. */
const LONGEST_RESULT = 60_000

export interface Tool {
  name: string
  description: string
  inputSchema: { properties?: Record<string, unknown> }
}

/** A question of the server in the middle of a call: a write to be confirmed. */
export interface Confirmation {
  /** All of what would run. */
  statement: string
  database: string
  /** The rows that it would change, if the database has previews. */
  seen: Looked
}

/** Ties of a turn to the page. */
export interface Surroundings {
  database: string
  signal: AbortSignal
  /** Shows the turn as it is now. */
  show: (turn: Turn) => void
  /** Asks the person; resolves with true if the statement may run. */
  confirm: (confirmation: Confirmation) => Promise<boolean>
}

/** Lists the tools of the server for a model. */
export async function toolsForModel(): Promise<Tool[]> {
  const { tools } = await result<{ tools: Tool[] }>('tools/list')
  return tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))
}

/** Lets a model answer, with tools, until it is done, fails, is stopped, or has used tools too often. */
export async function answer(turn: Turn, before: ChatMessage[], tools: Tool[], around: Surroundings): Promise<Turn> {
  const began = performance.now()
  let current = turn
  const update = (change: Partial<Turn>) => {
    current = { ...current, ...change, milliseconds: turn.milliseconds + performance.now() - began }
    around.show(current)
  }
  try {
    const history = await fitting(before, around.signal)
    update({ folded: before.length - history.length, state: 'answering', problem: null })
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const done = current.parts
      const question: Question = { messages: [...history, ...current.messages], tools, provider: turn.provider, model: turn.model }
      const { blocks, stopReason, tokens } = await ask(
        question,
        (text) => update({ parts: [...done, { kind: 'text', text }] }),
        around.signal,
        (tool) => update({ preparing: tool }),
      )
      const text = textOf(blocks)
      update({
        parts: text ? [...done, { kind: 'text', text }] : done,
        preparing: null,
        tokens: current.tokens + (tokens ?? 0),
        stopReason,
        messages: [...current.messages, { role: 'assistant', content: blocks.length ? blocks : '…' }],
      })
      const uses = blocks.filter((block) => block.type === 'tool_use')
      if (!uses.length) {
        update({ state: 'done' })
        return current
      }
      const results: Block[] = []
      for (const use of uses) results.push(await runUse(use, tools, around, (step) => update({ parts: withStep(current, step) })))
      update({ messages: [...current.messages, { role: 'user', content: results }] })
    }
    update({ state: 'limit' })
  } catch (problem) {
    update(wasStopped(problem) ? { state: 'stopped', preparing: null, parts: stopped(current) } : { state: 'failed', preparing: null, problem })
  }
  return current
}

const withStep = ({ parts }: Turn, step: Step): Turn['parts'] =>
  parts.some((part) => part.kind === 'step' && part.step.id === step.id)
    ? parts.map((part) => (part.kind === 'step' && part.step.id === step.id ? { kind: 'step', step } : part))
    : [...parts, { kind: 'step', step }]

const stopped = ({ parts }: Turn): Turn['parts'] =>
  parts.map((part) => (part.kind === 'step' && part.step.state === 'running' ? { kind: 'step', step: { ...part.step, state: 'stopped' } } : part))

async function fitting(messages: ChatMessage[], signal: AbortSignal): Promise<ChatMessage[]> {
  return JSON.stringify(messages).length < LONG ? messages : (await compact(messages, signal)).messages
}

async function runUse(use: Extract<Block, { type: 'tool_use' }>, tools: Tool[], around: Surroundings, show: (step: Step) => void): Promise<Block> {
  const takesDatabase = tools.find(({ name }) => name === use.name)?.inputSchema.properties?.database !== undefined
  const input = takesDatabase && !use.input.database && around.database ? { ...use.input, database: around.database } : use.input
  const step = await runTool(use.id, use.name, input, around, show)
  const text = step.text.length > LONGEST_RESULT ? `${step.text.slice(0, LONGEST_RESULT)}\n… (cut: ${step.text.length} characters)` : step.text
  return { type: 'tool_result', tool_use_id: use.id, content: text, ...(step.state !== 'done' && { is_error: true }) }
}

/** Calls a tool, shows its progress, and asks the person where the server does. */
export async function runTool(id: string, tool: string, input: Record<string, unknown>, around: Surroundings, show: (step: Step) => void, editedBy: string | null = null): Promise<Step> {
  const began = performance.now()
  const database = typeof input.database === 'string' ? input.database : around.database
  let step: Step = { id, tool, input, database, state: 'running', text: '', structured: null, milliseconds: 0, editedBy }
  show(step)
  const finish = (change: Partial<Step>) => {
    step = { ...step, ...change, milliseconds: performance.now() - began }
    show(step)
    return step
  }
  let extra: Record<string, unknown> = {}
  for (;;) {
    const request = requestFor(MODERN, 'tools/call', { name: tool, arguments: input, ...extra }, { 'ziggurat/structured': true })
    const { message, text, status } = await exchange(request, around.signal)
    const answer = message?.result
    if (!answer) return finish({ state: 'failed', text: message?.error?.message ?? (text.slice(0, 500) || String(status)) })
    if (answer.resultType !== 'input_required') {
      const words = ((answer.content as { text?: string }[] | undefined) ?? []).map((block) => block.text ?? '').join('\n\n')
      return finish({ state: answer.isError ? 'failed' : 'done', text: words, structured: answer.structuredContent ?? null })
    }
    const asked = Object.entries((answer.inputRequests ?? {}) as Record<string, { params?: { message?: string } }>)
    const question = asked.map(([, { params }]) => params?.message ?? '').join('\n\n')
    // Other tools may have an argument of this name, which is only a part of what runs.
    const statement = tool === 'query_database' && typeof input.query === 'string' ? input.query : question
    const { 'ziggurat/preview': looked } = (answer._meta ?? {}) as { 'ziggurat/preview'?: Partial<Looked> }
    const seen = { ...UNSEEN, ...looked }
    const agreed = await around.confirm({ statement, database, seen })
    if (!agreed) return finish({ state: 'declined', text: 'The user has declined to run this statement.' })
    const replies = asked.map(([key]) => [key, { action: 'accept', content: { confirm: true } }])
    extra = { inputResponses: Object.fromEntries(replies), requestState: answer.requestState }
  }
}
