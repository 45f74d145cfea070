import type { components } from 'openapi'
import { call } from './client'

type Schemas = components['schemas']

export type Listed = Schemas['ListedConversation']
export type Conversation = Schemas['Conversation']
export type Kept = Schemas['ConversationToKeep']

const at = (id: string) => `/api/conversations/${encodeURIComponent(id)}`

/** Lists conversations of the user that have all words in title or messages, with the last changed ones first. */
export async function conversations(words: string): Promise<Listed[]> {
  const query = new URLSearchParams({ limit: '100', ...(words.trim() && { q: words.trim() }) })
  return (await call<Schemas['Conversations']>(`/api/conversations?${query}`)).conversations
}

/** Reads a conversation. */
export const conversation = (id: string): Promise<Conversation> => call(at(id))

/** Stores a new conversation. */
export const keep = (body: Kept): Promise<Conversation> => call('/api/conversations', { body })

/** Replaces the messages of a conversation. */
export const replaceMessages = (id: string, body: Kept): Promise<unknown> => call(at(id), { method: 'PUT', body })

/** Gives a conversation another title. */
export const rename = (id: string, title: string): Promise<unknown> => call(at(id), { method: 'PATCH', body: { title } })

/** Deletes a conversation. */
export const remove = (id: string): Promise<unknown> => call(at(id), { method: 'DELETE' })
