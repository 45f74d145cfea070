import { expect, test } from 'vitest'
import { filterOf, NOTHING, queryOf, wantedIn } from './audit-filter'

test('what is wanted goes into the address and comes back', () => {
  const wanted = { ...NOTHING, period: 'between' as const, from: '2026-11-01T10:00', caller: 'al & ice', verdict: 'denied', words: '100%' }
  const query = new URLSearchParams(Object.entries(queryOf(wanted)).filter((pair): pair is [string, string] => pair[1] !== null))
  expect(wantedIn(query)).toEqual(wanted)
})

test('usual values are not in the address, and unknown ones of it do not count', () => {
  expect(Object.values(queryOf(NOTHING)).every((value) => value === null)).toBe(true)
  expect(wantedIn(new URLSearchParams('when=yesterday&caller=')).period).toBe('today')
})

test('times count from now, in RFC 3339', () => {
  const now = new Date('2026-11-26T12:34:56Z')
  expect(filterOf({ ...NOTHING, period: 'hour' }, now)).toMatchObject({ from: '2026-11-26T11:34:56.000Z', to: '' })
  expect(filterOf({ ...NOTHING, period: 'all' }, now).from).toBe('')
  const today = new Date(filterOf(NOTHING, now).from)
  expect([today.getHours(), today.getMinutes(), now.getTime() - today.getTime() < 86_400_000]).toEqual([0, 0, true])
})

test('fields with a local time are sent as the moment they name; one that is not whole counts as empty', () => {
  const filter = filterOf({ ...NOTHING, period: 'between', from: '2026-11-01T10:00', to: '2026-' }, new Date())
  expect(filter).toMatchObject({ from: new Date(2026, 10, 1, 10).toISOString(), to: '' })
})

test('records without a statement are left out unless they are wanted', () => {
  expect(filterOf(NOTHING, new Date()).statements).toBe('true')
  expect(filterOf(wantedIn(new URLSearchParams('calls=all')), new Date()).statements).toBe('')
})
