import { expect, test } from 'vitest'
import type { Activity, Finished, Running } from '../../api/activity'
import { millisecondsOf, upToDate } from './board'

const running = (id: string, second: number): Running => ({
  id,
  caller: { kind: 'user', name: 'alice' },
  via: 'http',
  tool: 'query_database',
  database: 'shop',
  statement: 'select 1',
  started_at: `2026-11-26T12:00:0${second}Z`,
  ms: 100,
  rows: 0,
  bytes: 0,
  state: 'running',
})
const finished = (id: string): Finished => {
  const { state: _, ...rest } = running(id, 0)
  return { ...rest, ms: 250, outcome: 'ok', code: null }
}
const told = (running: Running[], finished: Finished[] = []): Activity => ({ replica: 'tools-1', running, finished, latency: [], connections: [] })
const ids = (board: { lines: readonly { statement: Running }[] }) => board.lines.map(({ statement }) => statement.id)

test('running statements stand by age, whatever the order of the answer', () => {
  expect(ids(upToDate(null, told([running('b', 2), running('a', 1)]), 0, false))).toEqual(['a', 'b'])
})

test('while the lists are in use no line moves: ended ones stay in place, new ones wait', () => {
  const before = upToDate(null, told([running('a', 1), running('b', 2)]), 0, false)
  const during = upToDate(before, told([running('0', 0), { ...running('b', 2), rows: 7 }], [finished('a')]), 2000, true)
  expect(ids(during)).toEqual(['a', 'b'])
  expect(during.lines[0]?.ended).toMatchObject({ outcome: 'ok' })
  expect(during.lines[1]?.statement.rows).toBe(7)
  expect(during).toMatchObject({ waiting: 1, finished: [] })
  const later = upToDate(during, told([running('b', 2)], []), 4000, true)
  expect(later.lines[0]?.ended).toMatchObject({ outcome: 'ok' })
  const after = upToDate(later, told([running('0', 0), running('b', 2)], [finished('a')]), 6000, false)
  expect(ids(after)).toEqual(['0', 'b'])
  expect(after).toMatchObject({ waiting: 0 })
  expect(after.finished.map(({ id }) => id)).toEqual(['a'])
})

test('a statement that has ended without a word is said to have ended', () => {
  const before = upToDate(null, told([running('a', 1)]), 0, false)
  expect(upToDate(before, told([]), 1, true).lines[0]?.ended).toBe('unknown')
})

test('the first lists are shown even where the pointer rests', () => {
  expect(ids(upToDate(null, told([running('a', 1)]), 0, true))).toEqual(['a'])
})

test('time counts on from what the server has told, and stands when the statement has ended', () => {
  const line = { statement: running('a', 1), at: 1000, ended: null }
  expect(millisecondsOf(line, 1400)).toBe(500)
  expect(millisecondsOf({ ...line, ended: finished('a') }, 9000)).toBe(250)
  expect(millisecondsOf({ ...line, ended: 'unknown' }, 9000)).toBe(100)
})
