// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LibraryItem } from '../../api/library'
import { libraryChanges } from '../../shell/library'
import { addItem, changeItem, editItem, question, removeItem } from './changes'

const item: LibraryItem = { id: 'a/b', kind: 'query', title: 'Revenue', text: 'select 1', database: 'shop', tags: [], shared: false, owner: 'alice', version: 3, updated_at: '2026-11-26T10:00:00Z' }

let stored: LibraryItem | null
let asked: { method: string; path: string; body: Partial<LibraryItem> }[]

beforeEach(() => {
  stored = item
  asked = []
  question.value = null
  vi.stubGlobal('fetch', async (path: string, { method, body }: { method: string; body: string | null }) => {
    const sent = body === null ? {} : (JSON.parse(body) as Partial<LibraryItem>)
    asked.push({ method, path, body: sent })
    if (method === 'GET') return new Response(JSON.stringify({ items: stored ? [stored] : [] }))
    if (method === 'POST') return new Response(JSON.stringify({ ...item, ...sent }), { status: 201 })
    if (!stored) return new Response('{"error":"Not found","code":"not_found"}', { status: 404 })
    if (method === 'DELETE') return new Response(null, { status: 204 })
    if (sent.version !== stored.version) return new Response('{"error":"Changed","code":"changed"}', { status: 409 })
    stored = { ...stored, ...sent, version: stored.version + 1 }
    return new Response(JSON.stringify(stored))
  })
})
afterEach(() => vi.unstubAllGlobals())

async function answered(kind: string, value: unknown): Promise<void> {
  await vi.waitFor(() => expect(question.value?.kind).toBe(kind))
  ;(question.value?.answer as (value: unknown) => void)(value)
}

test('a change is written with the version that was read, and all tabs learn of it', async () => {
  const before = libraryChanges.value
  const outcome = await changeItem(item, { text: 'select 2' })
  expect(outcome).toMatchObject({ written: true, item: { text: 'select 2', version: 4 } })
  expect(asked).toMatchObject([{ method: 'PUT', path: '/api/library/a%2Fb', body: { version: 3, title: 'Revenue', tags: [] } }])
  expect(libraryChanges.value).toBe(before + 1)
})

test('a change that comes second shows both versions, and keeping the other writes nothing', async () => {
  stored = { ...item, text: 'select 9', version: 7 }
  const changing = changeItem(item, { text: 'select 2' })
  await vi.waitFor(() => expect(question.value).toMatchObject({ kind: 'changed', mine: { text: 'select 2' }, theirs: { text: 'select 9' } }))
  await answered('changed', false)
  expect(await changing).toEqual({ item: { ...item, text: 'select 9', version: 7 }, written: false })
  expect(stored.text).toBe('select 9')
})

test('overwriting writes only what was changed here', async () => {
  stored = { ...item, title: 'Turnover', version: 7 }
  const changing = changeItem(item, { text: 'select 2' })
  await answered('changed', true)
  expect(await changing).toMatchObject({ written: true, item: { title: 'Turnover', text: 'select 2', version: 8 } })
})

test('an item that is gone is the outcome, and not a failure', async () => {
  stored = null
  expect(await changeItem(item, { text: 'select 2' })).toEqual({ item: null, written: false })
  const removing = removeItem(item)
  await answered('remove', true)
  expect(await removing).toBe(true)
})

test('what the person would rather not do is not done', async () => {
  const removing = removeItem(item)
  await answered('remove', false)
  expect(await removing).toBe(false)
  const editing = editItem(item)
  await answered('edit', null)
  expect(await editing).toEqual({ item, written: false })
  expect(asked).toEqual([])
})

test('an item is added as it was written', async () => {
  await addItem({ kind: 'prompt', title: 'Explain', text: 'Explain it.', database: null, tags: [], shared: true })
  expect(asked).toMatchObject([{ method: 'POST', path: '/api/library', body: { kind: 'prompt', database: null, shared: true } }])
})
