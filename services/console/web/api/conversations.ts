import type { components } from 'openapi'
import { call } from './client'

type Schemas = components['schemas']

export type Listed = Schemas['ListedConversation']
export type Conversation = Schemas['Conversation']
export type Kept = Schemas['ConversationToKeep']

const at = (id: string) => `/api/conversations/${encodeURIComponent(id)}`

/** Lists conversations of the user, with the last changed ones first. */
export async function conversations(): Promise<Listed[]> {
  return (await call<Schemas['Conversations']>('/api/conversations?limit=100')).conversations
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
