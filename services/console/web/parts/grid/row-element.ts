/** One row of a grid on the screen. It is used again for other rows while scrolling. */
import { cellText, isFolded, isNumericType, PAINTED_CHARACTERS, type Cell, type Column } from './cell'
import { element } from './element'
import type { Layout, Range } from './layout'
import { markedParts, needsMarks } from './marks'
import type { GridModel } from './model'
import type { Rectangle } from './selection'

/** A cell on the screen, and the column that it shows now. */
interface CellElement {
  readonly node: HTMLElement
  readonly text: Text
  column: number
  width: number
  left: number
  isPlain: boolean
  isSelected: boolean
  className: string
}

export class RowElement {
  readonly node: HTMLElement
  /** The place in the shown order, or -1. */
  row = -1
  private readonly number: HTMLElement
  private readonly fixed: HTMLElement
  private pinned: CellElement[] = []
  private others: CellElement[] = []
  private generation = -1
  private readonly id: string

  constructor(id: string) {
    this.id = id
    this.node = element('div', 'grid-row', { role: 'row' })
    this.fixed = element('div', 'grid-pinned', { role: 'none' })
    this.number = element('div', 'grid-number', { role: 'rowheader', 'aria-colindex': '1' })
    this.fixed.append(this.number)
    this.node.append(this.fixed)
  }

  /** Takes the row off the screen; its element stays for the next one. */
  release(): void {
    if (this.row === -1) return
    this.row = -1
    this.node.hidden = true
  }

  /** Shows a row. `generation` changes when what was painted for the same row is out of date. */
  paint(model: GridModel, row: number, columns: Range, generation: number, rowHeight: number): void {
    const layout = model.layout.value
    const isNew = this.row !== row || this.generation !== generation
    if (isNew) this.place(model, row, layout, rowHeight, generation)
    const found = model.rowAt(row)
    if (!found) return
    const show = (cell: CellElement, column: number): void => {
      if (!isNew && cell.column === column) return
      const place = model.columnAt(column)
      if (place) fill(cell, column, layout, place.column, found.row[place.index] ?? null)
    }
    this.pinned.forEach((cell, column) => show(cell, column))
    const { others } = this
    const count = columns.to - columns.from
    while (others.length < count) others.push(this.newCell(this.node))
    // A column keeps its element while it can be seen: its place modulo the number of elements.
    const used = new Set<CellElement>()
    for (let column = columns.from; column < columns.to; column += 1) {
      const cell = others[column % others.length] as CellElement
      used.add(cell)
      if (cell.node.hidden) cell.node.hidden = false
      show(cell, column)
    }
    for (const cell of others) if (!used.has(cell)) hide(cell)
  }

  private place(model: GridModel, row: number, layout: Layout, rowHeight: number, generation: number): void {
    this.row = row
    this.generation = generation
    this.node.hidden = false
    this.node.style.transform = `translateY(${row * rowHeight}px)`
    this.node.setAttribute('aria-rowindex', String(row + 2))
    this.node.classList.toggle('is-odd', row % 2 === 1)
    this.number.textContent = String((model.rowAt(row)?.number ?? 0) + 1)
    this.number.style.width = `${layout.number}px`
    while (this.pinned.length < layout.pinned) this.pinned.push(this.newCell(this.fixed))
    for (const cell of this.pinned.splice(layout.pinned)) cell.node.remove()
    this.fixed.style.width = `${layout.number + (layout.edges[layout.pinned] ?? 0)}px`
  }

  private newCell(parent: HTMLElement): CellElement {
    const count = this.pinned.length + this.others.length
    const node = element('div', 'grid-cell', { role: 'gridcell', id: `${this.id}c${count}-${serial++}` })
    const text = document.createTextNode('')
    node.append(text)
    parent.append(node)
    return {
      node,
      text,
      column: -1,
      width: -1,
      left: -1,
      isPlain: true,
      isSelected: false,
      className: 'grid-cell',
    }
  }

  /** Marks the selected cells. Returns the element of the active one if it is here. */
  select(rectangle: Rectangle, active: { row: number; column: number }): HTMLElement | null {
    let found: HTMLElement | null = null
    const isInside = this.row >= rectangle.top && this.row <= rectangle.bottom
    for (const cell of [...this.pinned, ...this.others]) {
      if (cell.node.hidden) continue
      const isSelected = isInside && cell.column >= rectangle.left && cell.column <= rectangle.right
      if (isSelected !== cell.isSelected) {
        cell.isSelected = isSelected
        cell.node.setAttribute('aria-selected', String(isSelected))
      }
      const isActive = this.row === active.row && cell.column === active.column
      if (isActive) found = cell.node
      cell.node.classList.toggle('is-active', isActive)
    }
    return found
  }

  /** The column of an element in this row, or -1. */
  columnOf(node: Node): number {
    const found = [...this.pinned, ...this.others].find((cell) => cell.node.contains(node))
    return found?.column ?? -1
  }
}

let serial = 0

function hide(cell: CellElement): void {
  cell.node.hidden = true
  cell.column = -1
}

function fill(cell: CellElement, column: number, layout: Layout, described: Column, value: Cell): void {
  const left = layout.number + (layout.edges[column] as number)
  const width = (layout.edges[column + 1] as number) - (layout.edges[column] as number)
  if (cell.column !== column) {
    cell.column = column
    cell.node.setAttribute('aria-colindex', String(column + 2))
  }
  if (cell.left !== left) cell.node.style.insetInlineStart = `${(cell.left = left)}px`
  if (cell.width !== width) cell.node.style.width = `${(cell.width = width)}px`
  paintValue(cell, described, value)
}

function paintValue(cell: CellElement, { type }: Column, value: Cell): void {
  const className =
    value === null
      ? 'grid-cell is-null'
      : `grid-cell${isNumericType(type) ? ' is-number' : ''}${isFolded(value, type) ? ' is-folded' : ''}`
  if (cell.className !== className) {
    cell.className = className
    cell.node.className = className
  }
  const text = value === null ? 'NULL' : cellText(value).slice(0, PAINTED_CHARACTERS)
  if (!needsMarks(text)) {
    if (!cell.isPlain) cell.node.replaceChildren(cell.text)
    cell.isPlain = true
    cell.text.data = text
    return
  }
  cell.isPlain = false
  cell.node.replaceChildren(
    ...markedParts(text).map((part) => {
      const span = element('span', part.mark ? 'grid-mark' : '')
      span.textContent = part.text
      return span
    }),
  )
}
