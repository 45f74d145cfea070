import type { components } from 'openapi'
import { call, open } from './client'
import { readEvents } from './events'
import { Problem } from './problem'

type Schemas = components['schemas']

/** A piece of a message of a chat. */
export type Block =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  | { type: 'tool_result'; tool_use_id: string; content: string; is_error?: boolean }

export interface ChatMessage {
  role: 'user' | 'assistant'
  content: string | Block[]
}

/** A chat for a model to continue. */
export interface Question {
  messages: ChatMessage[]
  tools: { name: string; description: string; inputSchema: unknown }[]
  provider: string
  model: string
}

/** The whole answer of a model. */
export interface Answer {
  blocks: Block[]
  stopReason: string
  tokens: number | null
}

type Event =
  | { type: 'text'; text: string }
  | { type: 'tool_use_started'; id: string; name: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  | { type: 'done'; stop_reason: string; token_usage?: Schemas['TokenUsage'] | null }
  | { type: 'error'; error: string; code?: string }

/** Asks a model. `onText` gets the text so far while it arrives, `onTool` the name of a tool whose call begins. Stopping hangs up. */
export async function ask(question: Question, onText: (text: string) => void, signal: AbortSignal, onTool: (name: string) => void = () => {}): Promise<Answer> {
  const body = { ...question, debug: true }
  const response = await open('/api/llm/chat/stream', { body, signal, headers: { Accept: 'text/event-stream' } })
  const blocks: Block[] = []
  for await (const event of readEvents<Event>(response, ({ type }) => type === 'done' || type === 'error')) {
    switch (event.type) {
      case 'text':
        addText(blocks, event.text)
        onText(textOf(blocks))
        break
      case 'tool_use_started':
        onTool(event.name)
        break
      case 'tool_use':
        blocks.push({ type: 'tool_use', id: event.id, name: event.name, input: event.input })
        break
      case 'done':
        return { blocks, stopReason: event.stop_reason, tokens: event.token_usage?.total_tokens ?? null }
      case 'error':
        throw new Problem(0, event.error, event.code ?? '', response.headers.get('x-request-id'))
    }
  }
  throw new Problem(0, 'The answer broke off.', 'broke_off')
}

function addText(blocks: Block[], text: string): void {
  const last = blocks.at(-1)
  if (last?.type === 'text') last.text += text
  else blocks.push({ type: 'text', text })
}

/** Joins the texts of blocks. */
export const textOf = (blocks: Block[]): string => blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n\n')

/** Lists the providers of models. */
export const providers = (signal: AbortSignal): Promise<Schemas['ModelProviders']> => call('/api/llm/providers', { signal })

/** Lists the models of a provider. */
export const models = (provider: string, signal: AbortSignal): Promise<Schemas['Models']> => call(`/api/llm/models?provider=${encodeURIComponent(provider)}`, { signal })

/** Shortens a chat that has become long, without a model. */
export const compact = (messages: ChatMessage[], signal: AbortSignal): Promise<{ messages: ChatMessage[] }> => call('/api/chat/compact', { body: { messages }, signal })
