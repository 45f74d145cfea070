import { expect, test } from 'vitest'
import type { Cell } from '../grid/cell'
import { Rows } from '../grid/rows'
import { barsOf, pointsOf, secondsOf, stacked, valueText } from './series'
import { isDrawable, kindsFor, suggested, suggestedAs } from './shape'
import { tickOf, timeText, timeTicks } from './time-axis'

const rows = (columns: Record<string, string>, ...all: Cell[][]) =>
  new Rows(
    Object.entries(columns).map(([name, type]) => ({ name, type })),
    all,
  )
const bars = (series: number[], split: number | null = null) => ({
  kind: 'bars' as const,
  across: 0,
  series,
  split,
  stacked: false,
})

test('the shape of a result suggests its chart', () => {
  expect(suggested(rows({ t: 'timestamptz', n: 'int4' }, ['2026-01-01', 1]))).toMatchObject({
    kind: 'line',
    across: 0,
    series: [1],
  })
  expect(suggested(rows({ name: 'text', n: 'numeric' }, ['a', '1']))).toMatchObject({
    kind: 'bars',
    across: 0,
    series: [1],
  })
  expect(suggested(rows({ a: 'float8', b: 'float8' }, [1, 2]))).toMatchObject({
    kind: 'scatter',
    across: 0,
    series: [1],
  })
  expect(suggested(rows({ count: 'int8' }, [5]))).toMatchObject({ kind: 'value' })
  expect(suggested(rows({ t: 'date', who: 'text', n: 'int4' }, ['2026-01-01', 'a', 1]))).toMatchObject({
    kind: 'line',
    split: 1,
  })
  expect(suggested(rows({ a: 'text' }, ['x']))).toBe(null)
  expect(suggested(rows({ n: 'int4' }))).toBe(null)
})

test('rows with the same name are added up, and that is known', () => {
  const found = barsOf(rows({ name: 'text', n: 'int4' }, ['a', 1], ['b', 2], ['a', 3]), bars([1]), 'others')
  expect(found.bars).toMatchObject([
    { name: 'a', values: [4] },
    { name: 'b', values: [2] },
  ])
  expect(found.grouped).toBe(true)
})

test('beyond fifty names the smallest are others, and nothing of the sum is lost', () => {
  const many = rows(
    { name: 'text', n: 'int4' },
    ...Array.from({ length: 80 }, (_, index) => [`n${index}`, index]),
  )
  const found = barsOf(many, bars([1]), 'others')
  expect(found.bars).toHaveLength(50)
  expect(found.others).toBe(31)
  expect(found.bars.at(-1)?.name).toBe('others')
  const sum = found.bars.reduce((total, bar) => total + (bar.values[0] ?? 0), 0)
  expect(sum).toBe((79 * 80) / 2)
})

test('the names of a column can be the series', () => {
  const sales = rows(
    { t: 'date', who: 'text', n: 'int4' },
    ['2026-02-01', 'a', 1],
    ['2026-01-01', 'b', 2],
    ['2026-02-01', 'b', 3],
  )
  const points = pointsOf(sales, { kind: 'line', across: 0, series: [2], split: 1, stacked: false }, 'others')
  expect(points.labels).toEqual(['b', 'a'])
  expect(points.series).toEqual([
    [2, 3],
    [null, 1],
  ])
})

test('rows without a place along the bottom are left out and counted', () => {
  const points = pointsOf(
    rows({ a: 'int4', b: 'int4' }, [2, 1], [null, 9], [1, null]),
    { kind: 'scatter', across: 0, series: [1], split: null, stacked: false },
    'others',
  )
  expect(points).toMatchObject({ across: [1, 2], series: [[null, 1]], left: 1 })
  expect(
    stacked([
      [1, 2],
      [3, null],
    ]),
  ).toEqual([
    [1, 2],
    [4, 2],
  ])
})

test('times are read as PostgreSQL prints them', () => {
  const at = (text: string) => new Date(secondsOf(text) * 1000).toISOString()
  expect(at('2026-01-02')).toBe('2026-01-02T00:00:00.000Z')
  expect(at('2026-01-02 03:04:05')).toBe('2026-01-02T03:04:05.000Z')
  expect(at('2026-01-02 03:04:05.5+02')).toBe('2026-01-02T01:04:05.500Z')
  expect(at('2026-01-02T03:04:05Z')).toBe('2026-01-02T03:04:05.000Z')
  expect(secondsOf('infinity')).toBeNaN()
})

test('rows are offered in the forms that they can be drawn in', () => {
  const months = rows({ t: 'date', n: 'int4' }, ['2026-01-01', 1])
  expect(kindsFor(months)).toEqual(['bars', 'line'])
  expect(suggestedAs(months, 'bars')).toMatchObject({ kind: 'bars', across: 0, series: [1] })
  const names = rows({ name: 'text', n: 'numeric' }, ['a', '1'])
  expect(kindsFor(names)).toEqual(['bars'])
  expect(kindsFor(rows({ a: 'float8', b: 'float8' }, [1, 2]))).toEqual(['bars', 'line', 'scatter'])
  expect(kindsFor(rows({ count: 'int8' }, [5]))).toEqual([])
  expect(kindsFor(rows({ name: 'text' }, ['a']))).toEqual([])
})

test('a line of names and two numbers goes along the first number', () => {
  const both = rows({ name: 'text', a: 'int4', b: 'int4' }, ['x', 1, 2])
  expect(suggestedAs(both, 'line')).toMatchObject({ kind: 'line', across: 1, series: [2] })
})

test('values and sums are exact to the last digit', () => {
  const large = rows({ name: 'text', n: 'int8' }, ['a', '9007199254740993'], ['b', '9223372036854775807'], ['b', '9223372036854775807'], ['c', null])
  const { bars: found } = barsOf(large, bars([1]), 'others')
  expect(found.map((bar) => valueText(bar, 0))).toEqual(['9,007,199,254,740,993', '18,446,744,073,709,551,614', ''])
  const prices = barsOf(rows({ name: 'text', n: 'numeric' }, ['a', '0.1'], ['a', '0.2']), bars([1]), 'others')
  expect(prices.bars.map((bar) => valueText(bar, null))).toEqual(['0.3'])
  const floats = pointsOf(rows({ t: 'date', n: 'float8' }, ['2026-01-01', 1e300]), { ...bars([1]), kind: 'line' }, 'others')
  expect(floats.points.map((point) => valueText(point, 0))).toEqual([(1e300).toLocaleString('en')])
})

test('ticks of times stand on the points, or on round times of the calendar', () => {
  const at = (text: string) => Date.parse(`${text}T00:00:00Z`) / 1000
  const months = Array.from({ length: 12 }, (_, month) => Date.UTC(2026, month) / 1000)
  const names = (ticks: number[]) => ticks.map((tick) => tickOf(tick, ticks))
  expect(timeTicks(months, at('2026-01-01'), at('2026-12-01'), 12)).toEqual(months)
  expect(names(months).slice(0, 2)).toEqual(['2026-01', '2026-02'])
  expect(names(timeTicks(months, at('2026-01-01'), at('2026-12-01'), 8))).toEqual(['2026-01', '2026-03', '2026-05', '2026-07', '2026-09', '2026-11'])
  const days = Array.from({ length: 900 }, (_, day) => at('2026-01-01') + day * 86_400)
  expect(names(timeTicks(days, days[0] ?? 0, days.at(-1) ?? 0, 4))).toEqual(['2026', '2027', '2028'])
  expect(names(timeTicks(days, days[0] ?? 0, (days[0] ?? 0) + 86_400, 5))).toEqual(['2026-01-01', '2026-01-02'])
  const hour = Array.from({ length: 3600 }, (_, second) => at('2026-01-01') + second)
  expect(names(timeTicks(hour, hour[0] ?? 0, hour.at(-1) ?? 0, 5))).toEqual(['2026-01-01', '2026-01-01 00:15', '2026-01-01 00:30', '2026-01-01 00:45'])
  expect(timeTicks([], Number.NaN, Number.NaN, 5)).toEqual([])
  expect(timeTicks([1, 2, 3], 0, 1e18, 2).length).toBeLessThan(1000)
  expect(timeText(at('2026-01-31') + 0.5)).toBe('2026-01-31 00:00:00.500')
})

test('rows without a number cannot be drawn', () => {
  expect(isDrawable(rows({ name: 'text' }, ['a']))).toBe(false)
  expect(isDrawable(rows({ name: 'text', n: 'int8' }, ['a', 1]))).toBe(true)
})
