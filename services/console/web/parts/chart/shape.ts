/** Suggests a chart by the shape of a result. */
import { cellText, isNumericType, isTimeType } from '../grid/cell'
import type { Rows } from '../grid/rows'

export type ChartKind = 'line' | 'bars' | 'scatter' | 'value'

/** A choice of columns and form; columns are places in the result. */
export interface ChartChoice {
  readonly kind: ChartKind
  /** Column of times, names or numbers along the bottom. */
  readonly across: number
  readonly series: readonly number[]
  /** Column whose names become the series of the first number; null if the columns are the series. */
  readonly split: number | null
  readonly stacked: boolean
}

/** Most series of a suggestion; a person may choose more, up to the colours. */
const SUGGESTED_SERIES = 4
export const MAX_SERIES = 8
/** Most different names that are suggested as bars. */
const FEW_NAMES = 200

export const numericColumns = (rows: Rows): number[] => columnsOf(rows, isNumericType)

export const timeColumns = (rows: Rows): number[] => columnsOf(rows, isTimeType)

function columnsOf(rows: Rows, fits: (type: string) => boolean): number[] {
  return rows.columns.flatMap(({ type }, index) => (fits(type) ? [index] : []))
}

/** Returns the chart that fits a result best, or null if none does. */
export function suggested(rows: Rows): ChartChoice | null {
  const numbers = numericColumns(rows)
  if (rows.all.length === 0 || numbers.length === 0) return null
  if (rows.all.length === 1 && rows.columns.length === 1) return chosen('value', 0, numbers)
  const [time] = timeColumns(rows)
  const [name] = nameColumns(rows)
  if (time !== undefined) {
    const splits =
      name !== undefined && numbers.length === 1 && distinctCount(rows, name, MAX_SERIES) <= MAX_SERIES
    return chosen('line', time, numbers, splits ? name : null)
  }
  if (name !== undefined)
    return distinctCount(rows, name, FEW_NAMES) <= FEW_NAMES ? chosen('bars', name, numbers) : null
  const [first, second] = numbers
  if (numbers.length === 2 && first !== undefined && second !== undefined)
    return chosen('scatter', first, [second])
  return null
}

/** Tells if rows of these columns can be drawn. */
export const isDrawable = (rows: Rows): boolean => numericColumns(rows).length > 0

function chosen(
  kind: ChartKind,
  across: number,
  numbers: readonly number[],
  split: number | null = null,
): ChartChoice {
  const series = numbers.filter((column) => column !== across || kind === 'value').slice(0, SUGGESTED_SERIES)
  return { kind, across, series, split, stacked: false }
}

/** Columns whose values can be names of bars or series. */
export function nameColumns(rows: Rows): number[] {
  return columnsOf(
    rows,
    (type) => !isNumericType(type) && !isTimeType(type) && !/json|bytea|vector|xml|\[\]/.test(type),
  )
}

/** Counts different values, at most one more than the limit. */
function distinctCount(rows: Rows, column: number, limit: number): number {
  const seen = new Set<string>()
  for (const row of rows.all) {
    seen.add(cellText(row[column] ?? null))
    if (seen.size > limit) break
  }
  return seen.size
}

/** Replaces columns that do not fit a form: lines and points need times or numbers along the bottom. */
export function sound(rows: Rows, choice: ChartChoice): ChartChoice {
  const places = [...timeColumns(rows), ...numericColumns(rows)]
  const fits = choice.kind === 'bars' || places.includes(choice.across)
  const across = fits ? choice.across : (places[0] ?? choice.across)
  const series = choice.series.filter((column) => column !== across)
  return { ...choice, across, series, split: choice.split === across ? null : choice.split }
}

/** Forms that rows can be drawn in, the suggested one among them; none if no chart fits. */
export function kindsFor(rows: Rows): ChartKind[] {
  const first = suggested(rows)
  if (!first || first.kind === 'value') return []
  const hasPlaces = timeColumns(rows).length > 0 || numericColumns(rows).length > 1
  const kinds: ChartKind[] = ['bars', ...(hasPlaces ? (['line'] as const) : [])]
  return kinds.includes(first.kind) ? kinds : [...kinds, first.kind]
}

/** The suggested chart in another form. */
export function suggestedAs(rows: Rows, kind: ChartKind): ChartChoice {
  const first = suggested(rows) ?? { kind, across: 0, series: numericColumns(rows).slice(0, 1), split: null, stacked: false }
  return first.kind === kind ? first : sound(rows, { ...first, kind })
}
