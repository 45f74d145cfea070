/** Rows of a result while they arrive, and what is shown of them. */
import { signal, type ReadonlySignal } from '@preact/signals'
import { cellNumber, cellText, isNumericType, type Cell, type Column } from './cell'

export type Row = readonly Cell[]

/** The rows of a result. Grows while the result arrives. */
export class Rows {
  readonly columns: readonly Column[]
  readonly all: Row[] = []
  private readonly counted = signal(0)
  private readonly loading = signal(true)

  constructor(columns: readonly Column[], rows?: readonly Row[]) {
    this.columns = columns
    if (rows) {
      this.append(rows)
      this.end()
    }
  }

  /** The number of rows; changes with each piece that arrives. */
  get count(): ReadonlySignal<number> {
    return this.counted
  }

  get isLoading(): ReadonlySignal<boolean> {
    return this.loading
  }

  append(rows: readonly Row[]): void {
    for (const row of rows) this.all.push(row)
    this.counted.value = this.all.length
  }

  /** Says that no more rows arrive. */
  end(): void {
    this.loading.value = false
  }
}

export interface Sorting {
  readonly column: number
  readonly descending: boolean
}

/** A filter of the loaded rows: its words in one column, or in any. */
export interface Filter {
  readonly text: string
  readonly column: number | null
}

/** Returns the rows that pass a filter, in the order of the sorting; null for all as they came. */
export function arrange(rows: Rows, sorting: Sorting | null, filter: Filter | null): Uint32Array | null {
  if (!sorting && !filter?.text) return null
  let order = new Uint32Array(rows.all.length)
  let kept = 0
  const passes = filter?.text ? filterOf(filter) : () => true
  rows.all.forEach((row, index) => {
    if (passes(row)) order[kept++] = index
  })
  order = order.slice(0, kept)
  if (sorting) sortInPlace(order, rows, sorting)
  return order
}

function filterOf({ text, column }: Filter): (row: Row) => boolean {
  const wanted = text.toLowerCase()
  const matches = (cell: Cell): boolean =>
    cell === null ? wanted === 'null' : cellText(cell).toLowerCase().includes(wanted)
  return column === null ? (row) => row.some(matches) : (row) => matches(row[column] ?? null)
}

/** Sorts as PostgreSQL does by default: NULL after everything else, and first when descending. */
function sortInPlace(order: Uint32Array, rows: Rows, { column, descending }: Sorting): void {
  const type = rows.columns[column]?.type ?? 'text'
  const sign = descending ? -1 : 1
  const compare = isNumericType(type)
    ? byNumber(rows.all.map((row) => cellNumber(row[column] ?? null)))
    : byText(rows.all.map((row) => row[column] ?? null))
  order.sort((a, b) => sign * compare(a, b) || a - b)
}

type Compare = (a: number, b: number) => number

function byNumber(numbers: number[]): Compare {
  return (a, b) => {
    const [left, right] = [numbers[a] as number, numbers[b] as number]
    if (Number.isNaN(left)) return Number.isNaN(right) ? 0 : 1
    if (Number.isNaN(right)) return -1
    return left < right ? -1 : left > right ? 1 : 0
  }
}

function byText(cells: Cell[]): Compare {
  const { compare } = new Intl.Collator(undefined, { numeric: false })
  return (a, b) => {
    const [left, right] = [cells[a] as Cell, cells[b] as Cell]
    if (left === null) return right === null ? 0 : 1
    if (right === null) return -1
    return compare(cellText(left), cellText(right))
  }
}
