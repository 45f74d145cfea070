/** Places of the columns of a grid, and the parts of it that can be seen. */
import { cellText, isFolded, PAINTED_CHARACTERS, type Column } from './cell'
import { markedParts, needsMarks } from './marks'
import type { Row } from './rows'

export const MIN_WIDTH = 48
export const MAX_WIDTH = 1200
/** Width to which a column grows by itself; by double click it can be wider. */
export const FIRST_MAX_WIDTH = 320
/** Change of a width by one key press. */
export const WIDTH_STEP = 16
/** Space for padding, the sign of sorting and the menu of a column. */
const NAME_SPACE = 62
const CELL_SPACE = 18
/** Space for the sign of a cell that is folded. */
const FOLD_SPACE = 18
/** Rows that the first width of a column is made from. */
const SAMPLED_ROWS = 100

/** Choices of a reader about the columns; numbers are places in the result. */
export interface Choices {
  readonly widths: readonly number[]
  readonly hidden: ReadonlySet<number>
  readonly pinned: ReadonlySet<number>
}

export interface Layout {
  /** Columns as they are shown, pinned ones first: places in the result. */
  readonly shown: readonly number[]
  /** Number of those that are pinned. */
  readonly pinned: number
  /** Left edges behind the row number, one more than columns. */
  readonly edges: readonly number[]
  /** Width of the column of row numbers. */
  readonly number: number
}

export function layoutOf(columns: number, { widths, hidden, pinned }: Choices, number: number): Layout {
  const all = Array.from({ length: columns }, (_, index) => index).filter((index) => !hidden.has(index))
  const shown = [...all.filter((index) => pinned.has(index)), ...all.filter((index) => !pinned.has(index))]
  const edges = [0]
  for (const index of shown) edges.push((edges.at(-1) as number) + (widths[index] ?? MIN_WIDTH))
  return { shown, pinned: all.filter((index) => pinned.has(index)).length, edges, number }
}

export function totalWidth(layout: Layout): number {
  return layout.number + (layout.edges.at(-1) as number)
}

export function pinnedWidth(layout: Layout): number {
  return layout.number + (layout.edges[layout.pinned] as number)
}

/** A half-open range. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** Rows that can be seen, and `spare` more on both sides. */
export function visibleRows(
  top: number,
  height: number,
  rowHeight: number,
  count: number,
  spare: number,
): Range {
  const from = Math.max(0, Math.floor(top / rowHeight) - spare)
  const to = Math.min(count, Math.ceil((top + height) / rowHeight) + spare)
  return { from: Math.min(from, to), to }
}

/** Columns behind the pinned ones that can be seen. */
export function visibleColumns(layout: Layout, left: number, width: number): Range {
  const { edges, pinned, shown } = layout
  const start = (edges[pinned] as number) + left
  const end = left + width - layout.number
  let from = pinned
  while (from < shown.length && (edges[from + 1] as number) <= start) from += 1
  let to = from
  while (to < shown.length && (edges[to] as number) < end) to += 1
  return { from, to }
}

/** Measures a text in the font of the cells. */
export type Measure = (text: string) => number

/** Widths that fit names, types and the first rows. */
export function firstWidths(columns: readonly Column[], rows: readonly Row[], measure: Measure): number[] {
  const sample = rows.slice(0, SAMPLED_ROWS)
  return columns.map((column, index) => fittingWidth(column, index, sample, measure, FIRST_MAX_WIDTH))
}

/** The width at which the name and all given rows of a column are readable. */
export function fittingWidth(
  column: Column,
  index: number,
  rows: readonly Row[],
  measure: Measure,
  limit = MAX_WIDTH,
): number {
  let longest = ''
  let folds = false
  for (const row of rows) {
    const cell = row[index] ?? null
    const text = cell === null ? 'NULL' : cellText(cell)
    folds ||= isFolded(cell, column.type)
    if (text.length > longest.length) longest = text.slice(0, PAINTED_CHARACTERS)
  }
  const name = Math.max(measure(painted(column.name)), measure(column.type)) + NAME_SPACE
  const wanted = Math.ceil(Math.max(name, measure(painted(longest)) + CELL_SPACE + (folds ? FOLD_SPACE : 0)))
  return Math.max(MIN_WIDTH, Math.min(limit, wanted))
}

/** Position to scroll to on one axis so that `[start, end)` can be seen in a view that begins at `from`. */
export function scrolledTo(from: number, view: number, start: number, end: number): number {
  if (start < from) return start
  if (end > from + view) return Math.max(0, end - view)
  return from
}

/** A text with its marks, which have a border and so the space of about one more character. */
function painted(text: string): string {
  if (!needsMarks(text)) return text
  return markedParts(text)
    .map((part) => (part.mark ? `${part.text} ` : part.text))
    .join('')
}
