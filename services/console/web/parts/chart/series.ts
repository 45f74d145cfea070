/** Makes the numbers of a chart from the rows of a result. */
import { cellNumber, cellText, isTimeType, type Cell } from '../grid/cell'
import type { Row, Rows } from '../grid/rows'
import { MAX_SERIES, type ChartChoice } from './shape'

/** Bars that are shown; the others are added up. */
export const MAX_BARS = 50
/** Rows of a line or a scatter. */
export const MAX_POINTS = 100_000

/** The series of a chart, and which of them a row adds to. */
interface Series {
  readonly labels: readonly string[]
  values(row: Row): (number | null)[]
}

const nameOf = (cell: Cell): string => (cell === null ? 'NULL' : cellText(cell))

/** Takes the columns as series, or the names of one column; names beyond the colours are added up as others. */
export function seriesOf(rows: Rows, { series, split }: ChartChoice, othersName: string): Series {
  const [first] = series
  if (split === null || first === undefined) {
    return {
      labels: series.map((column) => rows.columns[column]?.name ?? ''),
      values: (row) => series.map((column) => finite(row[column] ?? null)),
    }
  }
  const sizes = new Map<string, number>()
  for (const row of rows.all) {
    const name = nameOf(row[split] ?? null)
    sizes.set(name, (sizes.get(name) ?? 0) + Math.abs(finite(row[first] ?? null) ?? 0))
  }
  const bySize = [...sizes].sort((a, b) => b[1] - a[1]).map(([name]) => name)
  const kept = bySize.slice(0, bySize.length > MAX_SERIES ? MAX_SERIES - 1 : MAX_SERIES)
  const labels = bySize.length > kept.length ? [...kept, othersName] : kept
  const places = new Map(kept.map((name, place) => [name, place]))
  return {
    labels,
    values: (row) => {
      const values: (number | null)[] = labels.map(() => null)
      values[places.get(nameOf(row[split] ?? null)) ?? labels.length - 1] = finite(row[first] ?? null)
      return values
    },
  }
}

function finite(cell: Cell): number | null {
  const number = cellNumber(cell)
  return Number.isFinite(number) ? number : null
}

/** One bar, or one group of bars: a name with a value for each series. */
export interface Bar {
  readonly name: string
  readonly values: readonly (number | null)[]
}

export interface Bars {
  readonly labels: readonly string[]
  readonly bars: readonly Bar[]
  /** Names that were added up under *others*. */
  readonly others: number
  /** Is true if rows with equal names were added up. */
  readonly grouped: boolean
}

/** Adds up the rows of each name. Beyond the limit the smallest are added up as *others*. */
export function barsOf(rows: Rows, choice: ChartChoice, othersName: string): Bars {
  const { labels, values } = seriesOf(rows, choice, othersName)
  const sums = new Map<string, (number | null)[]>()
  let grouped = false
  for (const row of rows.all) {
    const name = nameOf(row[choice.across] ?? null)
    const known = sums.get(name)
    grouped ||= known !== undefined && choice.split === null
    sums.set(name, known ? added(known, values(row)) : values(row))
  }
  const all: Bar[] = [...sums].map(([name, sum]) => ({ name, values: sum }))
  if (all.length <= MAX_BARS) return { labels, bars: all, others: 0, grouped }
  const size = ({ values: sum }: Bar): number =>
    sum.reduce<number>((total, value) => total + Math.abs(value ?? 0), 0)
  const large = new Set([...all].sort((a, b) => size(b) - size(a)).slice(0, MAX_BARS - 1))
  const rest = all.filter((bar) => !large.has(bar))
  const total = rest.map((bar) => bar.values).reduce(added)
  const bars = [...all.filter((bar) => large.has(bar)), { name: othersName, values: total }]
  return { labels, bars, others: rest.length, grouped }
}

function added(left: readonly (number | null)[], right: readonly (number | null)[]): (number | null)[] {
  return left.map((value, place) => {
    const other = right[place] ?? null
    return value === null ? other : value + (other ?? 0)
  })
}

/** Points of a line or scatter, sorted along the bottom. Rows without a place there are left out. */
export interface Points {
  readonly labels: readonly string[]
  readonly across: number[]
  readonly series: (number | null)[][]
  readonly isTime: boolean
  /** Rows that have no place along the bottom, or are beyond the limit. */
  readonly left: number
}

export function pointsOf(rows: Rows, choice: ChartChoice, othersName: string): Points {
  const { labels, values } = seriesOf(rows, choice, othersName)
  const isTime = isTimeType(rows.columns[choice.across]?.type ?? '')
  const place = (cell: Cell): number => (isTime ? secondsOf(cell) : cellNumber(cell))
  let found = rows.all
    .slice(0, MAX_POINTS)
    .map((row) => ({ at: place(row[choice.across] ?? null), values: values(row) }))
    .filter(({ at }) => Number.isFinite(at))
  const left = rows.all.length - found.length
  // The rows of the names at one place are one point.
  if (choice.split !== null) {
    const places = new Map<number, (number | null)[]>()
    for (const point of found) {
      const known = places.get(point.at)
      places.set(point.at, known ? added(known, point.values) : point.values)
    }
    found = [...places].map(([at, sum]) => ({ at, values: sum }))
  }
  found.sort((a, b) => a.at - b.at)
  const series = labels.map((_, index) => found.map((point) => point.values[index] ?? null))
  return { labels, across: found.map(({ at }) => at), series, isTime, left }
}

/** Puts each series on top of those before it. */
export function stacked(series: readonly (number | null)[][]): (number | null)[][] {
  const sums: number[] = []
  return series.map((values) =>
    values.map((value, place) => {
      const sum = (sums[place] ?? 0) + (value ?? 0)
      sums[place] = sum
      return sum
    }),
  )
}

/** The time of a cell in seconds. A time without a zone is taken as UTC, so that it is shown as it stands. */
export function secondsOf(cell: Cell): number {
  if (typeof cell !== 'string') return Number.NaN
  if (/^\d{1,2}:\d{2}/.test(cell)) return Date.parse(`1970-01-01T${cell.slice(0, 12)}Z`) / 1000
  const text = cell
    .trim()
    .replace(' ', 'T')
    .replace(/(:\d{2}(?:\.\d+)?[+-]\d{2})$/, '$1:00')
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return Date.parse(`${text}T00:00:00Z`) / 1000
  const hasZone = /(?:Z|[+-]\d{2}:\d{2})$/.test(text)
  return Date.parse(hasZone ? text : `${text}Z`) / 1000
}
