/** The part of a grid that scrolls: paints what can be seen and follows the selection. */
import { effect } from '@preact/signals'
import { element } from './element'
import { HeaderElement, type HeaderTexts } from './header-element'
import { pinnedWidth, scrolledTo, totalWidth, visibleColumns, visibleRows, type Range } from './layout'
import type { GridModel } from './model'
import { RowElement } from './row-element'
import { HEADER, type Place } from './selection'

/** Heights in pixels; the style sheet has the same. */
export const ROW_HEIGHT = 28
export const HEAD_HEIGHT = 44

/** Rows painted above and below those that can be seen. */
const SPARE_ROWS = 6

export interface GridTexts extends HeaderTexts {
  readonly label: string
  /** Says which keys work on names. */
  readonly keys: string
}

export class GridView {
  /** The element with the role `grid`, which scrolls and has the focus. */
  readonly node: HTMLElement
  private readonly model: GridModel
  private readonly head: HeaderElement
  private readonly body: HTMLElement
  private readonly id: string
  private pool: RowElement[] = []
  private generation = 0
  private frame = 0
  private height = 0
  private width = 0
  private readonly resized: ResizeObserver
  private readonly stops: (() => void)[]

  constructor(id: string, model: GridModel, texts: GridTexts) {
    this.id = id
    this.model = model
    this.node = element('div', 'grid-scroller', {
      role: 'grid',
      tabindex: '0',
      'aria-label': texts.label,
      'aria-description': texts.keys,
      'aria-multiselectable': 'true',
    })
    this.head = new HeaderElement(id, model, texts)
    this.body = element('div', 'grid-body', { role: 'none' })
    this.node.append(this.head.node, this.body)
    this.node.addEventListener('scroll', () => this.paintSoon(), { passive: true })
    this.resized = new ResizeObserver(() => this.measureView())
    this.resized.observe(this.node)
    this.stops = [effect(() => this.follow()), effect(() => this.followSelection())]
  }

  dispose(): void {
    cancelAnimationFrame(this.frame)
    this.resized.disconnect()
    this.head.dispose()
    for (const stop of this.stops) stop()
  }

  /** Rows that fit below the names. */
  get page(): number {
    return Math.max(1, Math.floor((this.height - HEAD_HEIGHT) / ROW_HEIGHT) - 1)
  }

  private measureView(): void {
    this.height = this.node.clientHeight
    this.width = this.node.clientWidth
    this.paintSoon()
  }

  /** Takes over sizes and counts when rows, order or columns change. */
  private follow(): void {
    const { model } = this
    void model.order.value
    const layout = model.layout.value
    const rows = model.shownRows.value
    this.generation += 1
    const width = `${totalWidth(layout)}px`
    this.body.style.height = `${rows * ROW_HEIGHT}px`
    this.body.style.width = width
    this.head.node.style.width = width
    this.node.setAttribute('aria-rowcount', model.rows.isLoading.value ? '-1' : String(rows + 1))
    this.node.setAttribute('aria-colcount', String(layout.shown.length + 1))
    this.paintSoon()
  }

  private followSelection(): void {
    void this.model.selection.value
    this.paintSoon()
  }

  paintSoon(): void {
    if (this.frame !== 0) return
    this.frame = requestAnimationFrame(() => {
      this.frame = 0
      this.paint()
    })
  }

  private visible(): { rows: Range; columns: Range } {
    const { scrollTop, scrollLeft } = this.node
    const layout = this.model.layout.value
    const height = Math.max(0, this.height - HEAD_HEIGHT)
    const rows = visibleRows(scrollTop, height, ROW_HEIGHT, this.model.shownRows.value, SPARE_ROWS)
    return { rows, columns: visibleColumns(layout, Math.abs(scrollLeft), this.width) }
  }

  /** Paints what can be seen. Elements of rows that left are used for those that came. */
  private paint(): void {
    const { rows, columns } = this.visible()
    this.head.paint(columns)
    const count = rows.to - rows.from
    while (this.pool.length < count) {
      const row = new RowElement(`${this.id}r${this.pool.length}`)
      this.pool.push(row)
      this.body.append(row.node)
    }
    const used = new Set<RowElement>()
    for (let shown = rows.from; shown < rows.to; shown += 1) {
      const row = this.pool[shown % this.pool.length] as RowElement
      used.add(row)
      row.paint(this.model, shown, columns, this.generation, ROW_HEIGHT)
    }
    for (const row of this.pool) if (!used.has(row)) row.release()
    this.paintSelection()
  }

  private paintSelection(): void {
    const { active } = this.model.selection.value
    const { value: rectangle } = this.model.rectangle
    let found = this.head.select(active)
    for (const row of this.pool) found = row.select(rectangle, active) ?? found
    if (found) this.node.setAttribute('aria-activedescendant', found.id)
    else this.node.removeAttribute('aria-activedescendant')
  }

  /** Scrolls so that a cell can be seen. */
  reveal({ row, column }: Place): void {
    const layout = this.model.layout.value
    if (row !== HEADER) {
      const view = this.height - HEAD_HEIGHT
      const top = row * ROW_HEIGHT
      this.node.scrollTop = scrolledTo(this.node.scrollTop, view, top, top + ROW_HEIGHT)
    }
    if (column >= layout.pinned) {
      const first = layout.edges[layout.pinned] as number
      const view = this.width - pinnedWidth(layout)
      const [start, end] = [
        (layout.edges[column] as number) - first,
        (layout.edges[column + 1] as number) - first,
      ]
      const left = scrolledTo(Math.abs(this.node.scrollLeft), view, start, end)
      this.node.scrollLeft = this.isMirrored ? -left : left
    }
  }

  get isMirrored(): boolean {
    return getComputedStyle(this.node).direction === 'rtl'
  }

  /** The cell or name under a node of the grid. */
  placeOf(node: Node): Place | null {
    const name = this.head.columnOf(node)
    if (name >= 0) return { row: HEADER, column: name }
    for (const row of this.pool) {
      if (row.row < 0 || !row.node.contains(node)) continue
      const column = row.columnOf(node)
      return { row: row.row, column: column >= 0 ? column : -1 }
    }
    return null
  }

  nameElement(column: number): HTMLElement | null {
    return this.head.elementOf(column)
  }
}
