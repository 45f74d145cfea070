import type { components } from 'openapi'
import { call } from './client'
import { Problem } from './problem'

type Schemas = components['schemas']

export type LibraryKind = Schemas['LibraryItemKind']

/** A query or a prompt that the server keeps for its users. */
export type LibraryItem = Schemas['LibraryItem']

/** The members of an item that its owner writes. */
export type LibraryText = Pick<LibraryItem, 'kind' | 'title' | 'text' | 'database' | 'tags' | 'shared'>

/** Items that a request returns. */
export const PAGE = 100

/** Pages that are read to find one item, at most: more than a user may have, with those of others. */
const MOST_PAGES = 50

const at = (id: string) => `/api/library/${encodeURIComponent(id)}`

/** Lists items that have all words in title or text, last changed first. */
export async function items(kind: LibraryKind, words = '', offset = 0, signal?: AbortSignal): Promise<LibraryItem[]> {
  const query = new URLSearchParams({ kind, limit: String(PAGE), ...(offset && { offset: String(offset) }), ...(words.trim() && { q: words.trim() }) })
  return (await call<Schemas['LibraryItems']>(`/api/library?${query}`, { signal: signal ?? null })).items
}

/** Finds an item by its id; null if it is not there for this user. */
export async function itemOf(kind: LibraryKind, id: string): Promise<LibraryItem | null> {
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const found = await items(kind, '', page * PAGE)
    const item = found.find((other) => other.id === id)
    if (item) return item
    if (found.length < PAGE) return null
  }
  return null
}

/** Adds an item. */
export const add = (body: LibraryText): Promise<LibraryItem> => call('/api/library', { body })

/** Writes an item, if it still has the version that it was read with. */
export function write({ id, kind, title, text, database, tags, shared, version }: LibraryItem): Promise<LibraryItem> {
  return call(at(id), { method: 'PUT', body: { kind, title, text, database, tags, shared, version } })
}

/** Deletes an item. */
export const remove = (id: string): Promise<void> => call(at(id), { method: 'DELETE' })

/** Tells if a failure is that of a change which another tab or user has made first. */
export const isChanged = (problem: unknown): boolean => problem instanceof Problem && problem.code === 'changed'

/** Tells if a failure is that of an item which is no longer there. */
export const isMissing = (problem: unknown): boolean => problem instanceof Problem && problem.status === 404
