// @vitest-environment happy-dom
import 'fake-indexeddb/auto'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { statements } from '../../parts/editor/statements'
import { Storage } from './storage'
import { Work } from './work'

const done = { done: { rows: 1, truncated: null, command: null, affected: null, notices: [], ms: 1 } }
const columns = { columns: [{ name: 'n', type: 'int4', table: null, column: null }] }
const failure = { message: 'no', sqlstate: '42703', position: 8, detail: null, hint: null, code: 'failed' }

let asked: string[] = []
let people = 0

/** Answers every statement with one row, those with `bad` with an error, and writes with a demand. */
function answer(_: string, { body }: { body: string }): Promise<Response> {
  const { sql, confirm } = JSON.parse(body)
  asked.push(confirm ? `${sql} confirmed` : sql)
  const lines = sql.includes('bad') ? [{ error: failure }] : [columns, { rows: [[1]] }, done]
  const demand = { error: 'Confirm it.', code: 'confirm', statement: sql, database: 'shop', confirm: 'seal' }
  const isWrite = sql.startsWith('delete') && !confirm
  return Promise.resolve(
    isWrite
      ? new Response(JSON.stringify(demand), { status: 409 })
      : new Response(lines.map((line) => `${JSON.stringify(line)}\n`).join('')),
  )
}

async function started(person = `user-${people++}`): Promise<Work> {
  const work = new Work(person)
  await work.restore()
  return work
}

beforeEach(() => {
  asked = []
  sessionStorage.clear()
  vi.stubGlobal('fetch', answer)
})
afterEach(() => vi.unstubAllGlobals())

test('statements run one after another until one fails, and its place is marked', async () => {
  const work = await started()
  const sheet = work.add('select 1;\nselect bad; select 3')
  await work.run(sheet, statements(sheet.text.value), 'shop')
  expect(asked).toEqual(['select 1', 'select bad'])
  expect(sheet.runs.value.map(({ state }) => state.value)).toEqual(['done', 'failed'])
  expect(sheet.mark.value).toBe('select 1;\nselect '.length)
  expect(sheet.busy.value).toBe(false)
  expect(work.history.value.map(({ outcome }) => outcome)).toEqual(['failed', 'done'])
  work.end()
})

test('a write that would do something else now is asked about again', async () => {
  const preview = (rows: number) => ({ rows, tables: [], notes: [], digest: `digest-${rows}` })
  const demand = (code: string, rows: number) => ({ error: 'Confirm it.', code, statement: 'delete from t', database: 'shop', confirm: `seal-${rows}`, preview: preview(rows) })
  const answers = [demand('confirm', 1), demand('changed', 2)].map((body) => new Response(JSON.stringify(body), { status: 409 }))
  const sent: { confirm?: string }[] = []
  vi.stubGlobal('fetch', (_: string, { body }: { body: string }) => {
    sent.push(JSON.parse(body))
    return Promise.resolve(answers.shift() ?? new Response(`${JSON.stringify(done)}\n`))
  })
  const work = await started()
  const sheet = work.add('delete from t')
  const running = work.run(sheet, statements(sheet.text.value), 'shop')
  for (const [rows, changed] of [[1, false], [2, true]] as const) {
    await vi.waitFor(() => expect(work.question.value).toMatchObject({ demand: { preview: { rows }, changed } }))
    const { value: question } = work.question
    if (question?.kind === 'confirm') question.answer(true)
  }
  await running
  expect(sent.map(({ confirm }) => confirm)).toEqual([undefined, 'seal-1', 'seal-2'])
  expect(sheet.shown.value?.state.value).toBe('done')
  work.end()
})

test('a write waits for its confirmation, and declining runs nothing', async () => {
  const work = await started()
  const sheet = work.add('delete from t')
  for (const agreed of [false, true]) {
    const running = work.run(sheet, statements(sheet.text.value), 'shop')
    await vi.waitFor(() => expect(work.question.value?.kind).toBe('confirm'))
    const { value: question } = work.question
    if (question?.kind === 'confirm') question.answer(agreed)
    await running
    expect(sheet.runs.value[0]?.state.value).toBe(agreed ? 'done' : 'stopped')
  }
  expect(asked).toEqual(['delete from t', 'delete from t', 'delete from t confirmed'])
  work.end()
})

test('values are asked for once for all statements, and not running runs none', async () => {
  const work = await started()
  const sheet = work.add('select {{a}}; select {{a}}, {{b}}')
  const running = work.run(sheet, statements(sheet.text.value), 'shop')
  const { value: question } = work.question
  if (question?.kind !== 'values') throw new Error('no values are asked for')
  expect(question.names).toEqual(['a', 'b'])
  question.answer(null)
  await running
  expect(asked).toEqual([])
  expect(sheet.busy.value).toBe(false)
  work.end()
})

test('a second press while a statement runs does nothing', async () => {
  const work = await started()
  const sheet = work.add('select 1')
  const both = [1, 2].map(() => work.run(sheet, statements('select 1'), 'shop'))
  await Promise.all(both)
  expect(asked).toEqual(['select 1'])
  work.end()
})

test('a text that is opened takes the empty tab, is opened once, and never runs', async () => {
  const work = await started()
  work.open('select 1')
  work.open('select 2')
  work.open('select 1')
  expect(work.sheets.value.map(({ text }) => text.value)).toEqual(['select 1', 'select 2'])
  expect(work.current.value?.text.value).toBe('select 1')
  expect(asked).toEqual([])
  work.end()
})

test('tabs come back after a reload, and a statement that ran is reported and not repeated', async () => {
  const before = await started('user-reloading')
  const sheet = before.add('select 1')
  // The page goes before the text was written to the database of the browser.
  dispatchEvent(new Event('pagehide'))
  sessionStorage.setItem('ziggurat-console-running', sheet.id)
  const after = await started('user-reloading')
  const found = after.sheets.value.find(({ text }) => text.value === 'select 1')
  expect(found?.interrupted.value).toBe(true)
  expect(asked).toEqual([])
  expect(sessionStorage.getItem('ziggurat-console-running')).toBe(null)
  const other = await started('user-else')
  expect(other.sheets.value.map(({ text }) => text.value)).toEqual([''])
  for (const work of [before, after, other]) work.end()
})

test('a statement that ran right before the page goes is in the history once', async () => {
  const person = `user-${people++}`
  const before = await started(person)
  const addRan = vi.spyOn(Storage.prototype, 'addRan')
  addRan.mockImplementationOnce(() => new Promise(() => {}))
  const sheet = before.add('select 1')
  await before.run(sheet, statements('select 1'), 'shop')
  dispatchEvent(new Event('pagehide'))
  const pending = sessionStorage.getItem('ziggurat-console-pending')
  const after = await started(person)
  expect(after.history.value.map(({ sql }) => sql)).toEqual(['select 1'])
  // As if the browser had written the statement after the page went.
  sessionStorage.setItem('ziggurat-console-pending', pending ?? '')
  const again = await started(person)
  expect(again.history.value).toHaveLength(1)
  for (const work of [before, after, again]) work.end()
})

test('the last tab that is closed leaves an empty one', async () => {
  const work = await started()
  for (const sheet of work.sheets.value) work.close(sheet)
  expect(work.sheets.value.map(({ text }) => text.value)).toEqual([''])
  work.end()
})

test('another tab of the browser has drafts of its own, and takes over those of closed tabs', async () => {
  const open = new Set(['elsewhere'])
  const locks = {
    request: (name: string, _: unknown, held: () => Promise<never>) => {
      open.add(name.replace('ziggurat-console-tab-', ''))
      return held()
    },
    query: () => Promise.resolve({ held: [...open].map((id) => ({ name: `ziggurat-console-tab-${id}` })) }),
  }
  vi.stubGlobal('navigator', { locks })
  const storage = new Storage('user-with-tabs')
  await storage.keepDraft({ id: 'a', tab: 'elsewhere', place: 0, text: 'select 1' })
  await storage.keepDraft({ id: 'b', tab: 'closed', place: 1, text: 'select 2' })
  const work = await started('user-with-tabs')
  expect(work.sheets.value.map(({ text }) => text.value)).toEqual(['select 2'])
  work.end()
})

const saved = { id: 'item_1', kind: 'query' as const, title: 'Revenue', text: 'select 1', database: 'shop', tags: [], shared: false, owner: 'alice', version: 1, updated_at: '2026-11-26T10:00:00Z' }

test('a saved query opens in one tab, which outlasts a reload and follows changes', async () => {
  const person = `user-${people++}`
  const work = await started(person)
  work.openSaved(saved)
  expect(work.sheets.value).toHaveLength(1)
  const sheet = work.current.value
  expect(sheet?.title.value).toBe('Revenue')
  work.add('select 5')
  work.openSaved({ ...saved, text: 'select 2', version: 2 })
  expect(work.current.value).toBe(sheet)
  expect(sheet?.text.value).toBe('select 2')
  expect(sheet?.isChanged.value).toBe(false)
  dispatchEvent(new Event('pagehide'))
  work.end()
  const again = await started(person)
  expect(again.sheets.value.map(({ saved: of }) => of.value?.version)).toEqual([2, undefined])
  again.follow('item_1', null)
  expect(again.sheets.value[0]?.saved.value).toBeNull()
  again.end()
})

test('a changed text stays when its query is opened again, with the version that it began with', async () => {
  const work = await started()
  work.openSaved(saved)
  const sheet = work.current.value
  if (sheet) sheet.text.value = 'select 3'
  expect(sheet?.isChanged.value).toBe(true)
  work.openSaved({ ...saved, text: 'select 2', version: 2 })
  expect(sheet?.text.value).toBe('select 3')
  expect(sheet?.saved.value?.version).toBe(1)
  work.end()
})
