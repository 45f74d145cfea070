import type { ChatMessage } from '../../api/chat'

/** A call of a tool, by the model or by the person who has changed its statement. */
export interface Step {
  id: string
  tool: string
  input: Record<string, unknown>
  database: string
  state: 'running' | 'done' | 'failed' | 'declined' | 'stopped'
  /** The text that the model gets. */
  text: string
  structured: unknown
  milliseconds: number
  /** Name of the person who has changed the statement. */
  editedBy: string | null
}

export type Part = { kind: 'text'; text: string } | { kind: 'step'; step: Step }

/** A question with its answer. */
export interface Turn {
  id: number
  question: string
  parts: Part[]
  state: 'answering' | 'done' | 'failed' | 'stopped' | 'limit'
  /** Tool whose call the model is writing. */
  preparing: string | null
  problem: unknown
  milliseconds: number
  tokens: number
  provider: string
  model: string
  at: string
  stopReason: string
  /** The messages of the turn as the model sees them. */
  messages: ChatMessage[]
  /** Number of messages that were folded before this turn. */
  folded: number
  /** Answers to the same question that were asked for again. */
  earlier: Turn[]
}

/** Text of an answer, without its steps. */
export const answerOf = ({ parts }: Turn): string => parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n\n')

/** Steps of an answer. */
export const stepsOf = ({ parts }: Turn): Step[] => parts.flatMap((part) => (part.kind === 'step' ? [part.step] : []))

/** Statement of a step, if it has one. */
export const statementOf = ({ input }: Step): string | null => (typeof input.query === 'string' && /^\s*(select|with|insert|update|delete|create|alter|drop|explain|show|table|values|merge|truncate)\b/i.test(input.query) ? input.query : null)

interface KeptMessage {
  role: string
  content: unknown
  activity?: Record<string, unknown>[] | null
  timestamp?: string | null
  provider?: string | null
  model?: string | null
  isError?: boolean | null
}

/** Writes turns as messages of a conversation that the server keeps. Steps are the activity of the answer. */
export function toKeep(turns: readonly Turn[]): KeptMessage[] {
  return turns.flatMap((turn) => [
    { role: 'user', content: turn.question, timestamp: turn.at },
    {
      role: 'assistant',
      content: answerOf(turn),
      activity: turn.parts.map((part) => ({ ...part }) as Record<string, unknown>),
      timestamp: turn.at,
      provider: turn.provider,
      model: turn.model,
      isError: turn.state === 'failed',
    },
  ])
}

/** Reads turns back from the messages of a conversation. */
export function fromKept(messages: readonly KeptMessage[]): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    const text = typeof message.content === 'string' ? message.content : JSON.stringify(message.content ?? '')
    if (message.role === 'user') turns.push(newTurn(text, message.provider ?? '', message.model ?? '', message.timestamp ?? ''))
    else {
      const last = turns.at(-1)
      if (!last) continue
      const parts = (message.activity ?? []).filter(isPart)
      last.parts = parts.length ? parts : [{ kind: 'text', text }]
      last.state = message.isError ? 'failed' : 'done'
      last.provider = message.provider ?? ''
      last.model = message.model ?? ''
      last.messages = [
        { role: 'user', content: last.question },
        { role: 'assistant', content: text || '…' },
      ]
    }
  }
  return turns.map((turn) => (turn.state === 'answering' ? { ...turn, state: 'stopped' } : turn))
}

function isPart(value: unknown): value is Part {
  if (!value || typeof value !== 'object') return false
  const { kind, text, step } = value as { kind?: string; text?: unknown; step?: Partial<Step> }
  if (kind === 'text') return typeof text === 'string'
  return kind === 'step' && typeof step?.tool === 'string' && typeof step.text === 'string' && typeof step.input === 'object'
}

let next = 1

/** Begins a turn. */
export function newTurn(question: string, provider: string, model: string, at = new Date().toISOString()): Turn {
  return {
    id: next++,
    question,
    parts: [],
    state: 'answering',
    preparing: null,
    problem: null,
    milliseconds: 0,
    tokens: 0,
    provider,
    model,
    at,
    stopReason: '',
    messages: [{ role: 'user', content: question }],
    folded: 0,
    earlier: [],
  }
}

/** Writes a conversation as Markdown. */
export function markdownOf(title: string, turns: readonly Turn[]): string {
  const fence = (text: string, language = '') => `\`\`\`\`${language}\n${text}\n\`\`\`\``
  const parts = turns.flatMap((turn) => [
    `## ${turn.question}`,
    ...turn.parts.map((part) => {
      if (part.kind === 'text') return part.text
      const { step } = part
      return [`**${step.tool}** (${step.database})`, fence(statementOf(step) ?? JSON.stringify(step.input, null, 2), statementOf(step) ? 'sql' : 'json'), fence(step.text)].join('\n\n')
    }),
  ])
  return [`# ${title}`, ...parts].join('\n\n').concat('\n')
}
