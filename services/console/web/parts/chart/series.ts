/** Makes the numbers of a chart from the rows of a result. */
import { cellNumber, cellText, isTimeType, type Cell } from '../grid/cell'
import type { Row, Rows } from '../grid/rows'
import { sumOf } from '../grid/sum'
import { MAX_SERIES, type ChartChoice } from './shape'

/** Bars that are shown; the others are added up. */
export const MAX_BARS = 50
/** Rows of a line or a scatter. */
export const MAX_POINTS = 100_000

/** The series of a chart, and which of them a row adds to. */
interface Series {
  readonly labels: readonly string[]
  cells(row: Row): Cell[]
}

const nameOf = (cell: Cell): string => (cell === null ? 'NULL' : cellText(cell))

/** Takes the columns as series, or the names of one column; names beyond the colours are added up as others. */
export function seriesOf(rows: Rows, { series, split }: ChartChoice, othersName: string): Series {
  const [first] = series
  if (split === null || first === undefined) {
    return {
      labels: series.map((column) => rows.columns[column]?.name ?? ''),
      cells: (row) => series.map((column) => row[column] ?? null),
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
    cells: (row) => {
      const cells: Cell[] = labels.map(() => null)
      cells[places.get(nameOf(row[split] ?? null)) ?? labels.length - 1] = row[first] ?? null
      return cells
    },
  }
}

function finite(cell: Cell): number | null {
  const number = cellNumber(cell)
  return Number.isFinite(number) ? number : null
}

const figures = new Intl.NumberFormat('en', { maximumFractionDigits: 6 })

/** Writes the sum of cells, exact to the last digit unless some are floating; nothing if none is a number. */
export function figure(cells: readonly Cell[]): string {
  const known = cells.map(finite).filter((value) => value !== null)
  if (known.length === 0) return ''
  const { numbers, sum } = sumOf(cells)
  return figures.format(numbers === known.length ? (sum as `${number}`) : known.reduce((total, value) => total + value, 0))
}

/** One bar, one group of bars or one point: a value for each series, and the cells of the rows behind it. */
export interface Summed {
  readonly values: readonly (number | null)[]
  /** For each row the cells of the series. */
  readonly cells: readonly (readonly Cell[])[]
}

/** Writes the value of a series, or the sum of all. */
export const valueText = (of: Summed | undefined, series: number | null): string =>
  figure(series === null ? (of?.cells.flat() ?? []) : (of?.cells.map((row) => row[series] ?? null) ?? []))

function summed(cells: readonly (readonly Cell[])[]): Summed {
  return { values: cells.map((row) => row.map(finite)).reduce(added), cells }
}

export interface Bar extends Summed {
  readonly name: string
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
  const { labels, cells } = seriesOf(rows, choice, othersName)
  const byName = new Map<string, Cell[][]>()
  for (const row of rows.all) pushTo(byName, nameOf(row[choice.across] ?? null), cells(row))
  const grouped = choice.split === null && byName.size < rows.all.length
  const all: Bar[] = [...byName].map(([name, found]) => ({ name, ...summed(found) }))
  if (all.length <= MAX_BARS) return { labels, bars: all, others: 0, grouped }
  const size = ({ values: sum }: Bar): number =>
    sum.reduce<number>((total, value) => total + Math.abs(value ?? 0), 0)
  const large = new Set([...all].sort((a, b) => size(b) - size(a)).slice(0, MAX_BARS - 1))
  const rest = all.filter((bar) => !large.has(bar))
  const others = summed(rest.flatMap((bar) => bar.cells))
  const bars = [...all.filter((bar) => large.has(bar)), { name: othersName, ...others }]
  return { labels, bars, others: rest.length, grouped }
}

function pushTo<K>(lists: Map<K, Cell[][]>, key: K, cells: Cell[]): void {
  const known = lists.get(key)
  if (known) known.push(cells)
  else lists.set(key, [cells])
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
  readonly points: readonly Summed[]
  readonly isTime: boolean
  /** Rows that have no place along the bottom, or are beyond the limit. */
  readonly left: number
}

export function pointsOf(rows: Rows, choice: ChartChoice, othersName: string): Points {
  const { labels, cells } = seriesOf(rows, choice, othersName)
  const isTime = isTimeType(rows.columns[choice.across]?.type ?? '')
  const place = (cell: Cell): number => (isTime ? secondsOf(cell) : cellNumber(cell))
  const placed = rows.all
    .slice(0, MAX_POINTS)
    .map((row) => ({ at: place(row[choice.across] ?? null), cells: cells(row) }))
    .filter(({ at }) => Number.isFinite(at))
  const left = rows.all.length - placed.length
  let found: [number, Cell[][]][] = placed.map(({ at, cells: own }) => [at, [own]])
  // The rows of the names at one place are one point.
  if (choice.split !== null) {
    const byPlace = new Map<number, Cell[][]>()
    for (const { at, cells: own } of placed) pushTo(byPlace, at, own)
    found = [...byPlace]
  }
  found.sort(([a], [b]) => a - b)
  const points = found.map(([, own]) => summed(own))
  const series = labels.map((_, index) => points.map((point) => point.values[index] ?? null))
  return { labels, across: found.map(([at]) => at), series, points, isTime, left }
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
