import { expect, test } from 'vitest'
import { addressOf, placeOf } from './router'

const at = (address: string) => placeOf(new URL(address, 'http://localhost'))

test('an address is taken apart, and text that is no percent-code stays as it is', () => {
  const place = at('/console/ask/a%2Fb?db=shop&q=1#select%201')
  expect(place).toMatchObject({ screen: 'ask', item: 'a/b', hash: 'select 1' })
  expect(place.query.get('db')).toBe('shop')
  expect(at('/console/sql#100%').hash).toBe('100%')
  expect(at('/docs').screen).toBe('')
})

test('another screen keeps the database and nothing else', () => {
  const from = at('/console/tools?db=shop&open=x#secret')
  expect(addressOf(from, { screen: 'sql' })).toBe('/console/sql?db=shop')
  expect(addressOf(from, { screen: 'sql', query: { tab: '2' }, hash: 'select 1' })).toBe('/console/sql?db=shop&tab=2#select%201')
})

test('a step on the same screen changes only what it names', () => {
  const from = at('/console/tools?db=shop&open=x&revision=1#h')
  expect(addressOf(from, { query: { open: null, db: 'a&b' } })).toBe('/console/tools?db=a%26b&revision=1#h')
  expect(addressOf(from, { hash: '' })).toBe('/console/tools?db=shop&open=x&revision=1')
})
