import { afterEach, expect, test, vi } from 'vitest'
import { demandOf } from '../../api/query'
import { filled } from './placeholders'
import { Run } from './run'
import { UNSEEN } from '../../api/preview'

const order = (sql: string) => ({
  filled: filled(sql, new Map()),
  database: 'shop',
  limit: 10,
  timeLimit: null,
  from: 0,
})

/** Answers each request with the next of the given answers, and keeps the bodies that were sent. */
function answering(...answers: (Response | Error)[]) {
  const sent: Record<string, unknown>[] = []
  vi.stubGlobal('fetch', async (_: string, { body }: { body: string }) => {
    sent.push(JSON.parse(body))
    const answer = answers.shift()
    if (!answer || answer instanceof Error) throw answer ?? new Error('no answer is left')
    return answer
  })
  return sent
}

const lines = (...all: object[]) => new Response(all.map((line) => `${JSON.stringify(line)}\n`).join(''))
const columns = { columns: [{ name: 'n', type: 'int4', table: null, column: null }] }
const done = { done: { rows: 2, truncated: 'rows', command: null, affected: null, notices: [], ms: 1.5 } }

afterEach(() => vi.unstubAllGlobals())

test('rows arrive in pieces and are whole at the end', async () => {
  const sent = answering(lines({ started: {} }, columns, { rows: [[1]] }, { rows: [[2]] }, done))
  const run = new Run(order('select n'))
  await run.start()
  expect(run.state.value).toBe('done')
  expect(run.rows.value?.all).toEqual([[1], [2]])
  expect(run.rows.value?.isLoading.value).toBe(false)
  expect(run.ms.value).toBe(1.5)
  expect(sent).toEqual([{ database: 'shop', sql: 'select n', max_rows: 10 }])
})

test('an answer that ends early is a failure, and its rows stay', async () => {
  answering(lines(columns, { rows: [[1]] }))
  const run = new Run(order('select n'))
  await expect(run.start()).rejects.toMatchObject({ code: 'broke_off' })
  expect(run.state.value).toBe('failed')
  expect(run.done.value).toBe(null)
  expect(run.rows.value?.all).toEqual([[1]])
})

test('an error of PostgreSQL is kept with its place', async () => {
  answering(
    lines({
      error: { message: 'no', sqlstate: '42703', position: 8, detail: null, hint: null, code: 'failed' },
    }),
  )
  const run = new Run(order('select bad'))
  await run.start()
  expect(run.state.value).toBe('failed')
  expect(run.failure.value?.position).toBe(8)
})

test('a statement that may write is sent again with its seal, and only then', async () => {
  const demand = {
    error: 'Confirm it.',
    code: 'confirm',
    statement: 'delete from t',
    database: 'shop',
    confirm: 'seal',
  }
  const sent = answering(new Response(JSON.stringify(demand), { status: 409 }), lines(columns, done))
  const run = new Run(order('delete from t'))
  const problem = await run.start().catch((found: unknown) => found)
  expect(demandOf(problem)).toEqual({ statement: 'delete from t', database: 'shop', confirm: 'seal', ...UNSEEN })
  expect(sent).toHaveLength(1)
  run.again()
  await run.start('seal')
  expect(sent[1]).toMatchObject({ confirm: 'seal' })
  expect(run.state.value).toBe('done')
})

test('a statement that was stopped is neither done nor failed', async () => {
  answering(new DOMException('stopped', 'AbortError'))
  const run = new Run(order('select pg_sleep(9)'))
  await run.start()
  expect(run.state.value).toBe('stopped')
  expect(run.problem.value).toBe(null)
})
