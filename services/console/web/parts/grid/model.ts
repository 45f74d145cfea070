/** The state of a grid: order, filter, columns and selection. */
import { batch, computed, effect, signal, untracked } from '@preact/signals'
import { isNumericType, type Cell, type Column } from './cell'
import { written, type Copied, type Form } from './copy'
import { firstWidths, layoutOf, MAX_WIDTH, MIN_WIDTH, type Measure } from './layout'
import { arrange, type Filter, type Row, type Rows, type Sorting } from './rows'
import { at, clamped, HEADER, rectangle, type Bounds, type Selection } from './selection'
import { sumOf } from './sum'

/** Width of one digit of a row number, and the space around. */
const DIGIT = 8
const NUMBER_SPACE = 18

/** Cells above which a selection is not summed up. */
const MAX_SUMMED_CELLS = 200_000

let next = 1

export class GridModel {
  readonly id = next++
  readonly rows: Rows
  readonly sorting = signal<Sorting | null>(null)
  readonly filter = signal<Filter | null>(null)
  readonly widths = signal<readonly number[]>([])
  readonly hidden = signal<ReadonlySet<number>>(new Set())
  readonly pinned = signal<ReadonlySet<number>>(new Set())
  readonly selection = signal<Selection>(at(0, 0))
  /** Rows as they are shown; null if that is all as they came. */
  readonly order = signal<Uint32Array | null>(null)
  /** Is true once the person has changed a width. */
  private hasOwnWidths = false
  private firstLimit = MAX_WIDTH
  private readonly stops: (() => void)[]

  constructor(
    rows: Rows,
    private readonly measure: Measure,
  ) {
    this.rows = rows
    const isEmpty = computed(() => rows.count.value === 0)
    this.stops = [
      effect(() => this.arrangeAgain()),
      effect(() => {
        void isEmpty.value
        untracked(() => this.fitAll())
      }),
    ]
  }

  dispose(): void {
    for (const stop of this.stops) stop()
  }

  /** Fits all widths to the names and the first rows, unless the person has changed one. */
  fitAll(): void {
    if (this.hasOwnWidths) return
    const widths = firstWidths(this.rows.columns, this.rows.all, this.measure)
    this.widths.value = widths.map((width, place) => (place === 0 ? Math.min(width, this.firstLimit) : width))
  }

  /** Pins the first column and keeps it narrow, for a screen on which little else would be seen. */
  pinFirst(limit: number): void {
    if (this.firstLimit === limit || this.rows.columns.length < 2) return
    this.firstLimit = limit
    this.pinned.value = new Set([0])
    this.fitAll()
  }

  readonly shownRows = computed(() => this.order.value?.length ?? this.rows.count.value)

  /** Digits of the largest row number; it changes far less often than the number of rows. */
  private readonly digits = computed(() => String(Math.max(this.rows.count.value, 1)).length)

  readonly layout = computed(() => {
    const digits = this.digits.value
    const choices = { widths: this.widths.value, hidden: this.hidden.value, pinned: this.pinned.value }
    return layoutOf(this.rows.columns.length, choices, Math.max(36, digits * DIGIT + NUMBER_SPACE))
  })

  readonly rectangle = computed(() => rectangle(this.selection.value))

  /** Arranges when the order is changed and when all rows are there, not with each piece that arrives. */
  private arrangeAgain(): void {
    const { value: sorting } = this.sorting
    const { value: filter } = this.filter
    void this.rows.isLoading.value
    this.order.value = arrange(this.rows, sorting, filter)
    untracked(() => this.keepInside())
  }

  private keepInside(): void {
    const bounds = this.bounds(1)
    // Without rows the selection waits where it is: they may still arrive, or a filter may be taken away.
    if (bounds.rows > 0) this.selection.value = clamped(this.selection.value, bounds)
  }

  bounds(page: number): Bounds {
    return { rows: this.shownRows.value, columns: this.layout.value.shown.length, page }
  }

  /** The row at a place of the shown order, with its number in the result. */
  rowAt(shown: number): { row: Row; number: number } | null {
    const { value: order } = this.order
    const number = order ? order[shown] : shown
    const row = number === undefined ? undefined : this.rows.all[number]
    return row && number !== undefined ? { row, number } : null
  }

  columnAt(shown: number): { column: Column; index: number } | null {
    const index = this.layout.value.shown[shown]
    const column = index === undefined ? undefined : this.rows.columns[index]
    return column && index !== undefined ? { column, index } : null
  }

  cellAt(row: number, column: number): Cell | undefined {
    const place = this.columnAt(column)
    const found = this.rowAt(row)
    return place && found ? (found.row[place.index] ?? null) : undefined
  }

  /** Sorts by a column; again for the other direction, and a third time not at all. */
  sortNext(index: number): void {
    const { value } = this.sorting
    if (value?.column !== index) this.sorting.value = { column: index, descending: false }
    else this.sorting.value = value.descending ? null : { column: index, descending: true }
  }

  setWidth(index: number, width: number): void {
    this.hasOwnWidths = true
    const bounded = Math.round(Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, width)))
    this.widths.value = this.widths.value.map((old, place) => (place === index ? bounded : old))
  }

  /** Hides a column; the last one stays. */
  hide(index: number): void {
    if (this.layout.value.shown.length < 2) return
    batch(() => {
      this.hidden.value = new Set([...this.hidden.value, index])
      this.keepInside()
    })
  }

  showAll(): void {
    this.hidden.value = new Set()
  }

  togglePin(index: number): void {
    const pinned = new Set(this.pinned.value)
    if (!pinned.delete(index)) pinned.add(index)
    this.pinned.value = pinned
  }

  /** Columns and rows of the selection; of a name that is selected, its whole column. */
  selected(): Copied {
    const { top, bottom, left, right } = this.rectangle.value
    const whole = top === HEADER
    return this.cut(whole ? 0 : top, whole ? this.shownRows.value - 1 : bottom, left, right)
  }

  /** All loaded rows as they are shown, with the columns that are not hidden. */
  shown(): Copied {
    return this.cut(0, this.shownRows.value - 1, 0, this.layout.value.shown.length - 1)
  }

  private cut(top: number, bottom: number, left: number, right: number): Copied {
    const indexes = this.layout.value.shown.slice(left, right + 1)
    const rows: Row[] = []
    for (let shown = top; shown <= bottom; shown += 1) {
      const row = this.rowAt(shown)?.row
      if (row) rows.push(indexes.map((index) => row[index] ?? null))
    }
    return { columns: indexes.map((index) => this.rows.columns[index] as Column), rows }
  }

  copyText(form: Form): string {
    return written(this.selected(), form)
  }

  /** Rows, columns and, for numbers, the sum of the selection. */
  readonly summary = computed(() => {
    const { top, bottom, left, right } = this.rectangle.value
    if (top === HEADER) return null
    const [rows, columns] = [bottom - top + 1, right - left + 1]
    if (rows * columns < 2) return null
    return { rows, columns, ...this.sum(rows * columns) }
  })

  /** The sum of the cells whose columns are numbers. */
  private sum(cells: number): { sum: string; numbers: number } {
    if (cells > MAX_SUMMED_CELLS) return { sum: '0', numbers: 0 }
    const { columns, rows } = this.selected()
    const numeric = columns.map((column) => isNumericType(column.type))
    return sumOf(rows.flatMap((row) => row.filter((_, index) => numeric[index])))
  }
}
