import 'fake-indexeddb/auto'
import { expect, test } from 'vitest'
import { forgetDrafts } from '../../shell/drafts'
import { KEPT_STATEMENTS, Storage, type Ran } from './storage'

const ran = (at: number): Ran => ({
  at,
  database: 'shop',
  sql: `select ${at}`,
  ms: 1,
  rows: 1,
  outcome: 'done',
})

test('drafts come back in the order of their tabs, and only to their person', async () => {
  const alice = new Storage('user-alice')
  await alice.keepDraft({ id: 'b', tab: '', place: 1, text: 'select 2' })
  await alice.keepDraft({ id: 'a', tab: '', place: 0, text: 'select 1' })
  await alice.keepDraft({ id: 'b', tab: '', place: 1, text: 'select 3' })
  expect((await new Storage('user-alice').drafts()).map(({ text }) => text)).toEqual(['select 1', 'select 3'])
  expect(await new Storage('user-bob').drafts()).toEqual([])
  await alice.deleteDraft('a')
  expect((await alice.drafts()).map(({ id }) => id)).toEqual(['b'])
})

test('the history keeps the latest statements and forgets the oldest', async () => {
  const storage = new Storage('user-carol')
  for (let at = 0; at < KEPT_STATEMENTS + 3; at += 1) await storage.addRan(ran(at))
  const kept = await storage.history()
  expect(kept).toHaveLength(KEPT_STATEMENTS)
  expect([kept[0]?.at, kept.at(-1)?.at]).toEqual([KEPT_STATEMENTS + 2, 3])
  await storage.clearHistory()
  expect(await storage.history()).toEqual([])
})

test('signing out deletes drafts and history, and later writes of an open page do not fail', async () => {
  const storage = new Storage('user-dora')
  await storage.keepDraft({ id: 'a', tab: '', place: 0, text: 'select 1' })
  await forgetDrafts()
  await storage.addRan(ran(1))
  expect(await new Storage('user-dora').drafts()).toEqual([])
  expect(await new Storage('user-dora').history()).toEqual([])
})
