/** The row of names of a grid. */
import { effect } from '@preact/signals'
import { element } from './element'
import type { Range } from './layout'
import { markedParts } from './marks'
import type { GridModel } from './model'
import { HEADER } from './selection'

/** Names of buttons in the header, for tooltips and screen readers. */
export interface HeaderTexts {
  readonly number: string
  menu(column: string): string
  readonly width: string
}

interface NameElement {
  readonly node: HTMLElement
  column: number
}

export class HeaderElement {
  readonly node = element('div', 'grid-head', { role: 'row', 'aria-rowindex': '1' })
  private readonly fixed = element('div', 'grid-pinned', { role: 'none' })
  private readonly number: HTMLElement
  private names: NameElement[] = []
  private painted = ''
  private readonly id: string
  private readonly model: GridModel
  private readonly texts: HeaderTexts
  private readonly stop: () => void

  constructor(id: string, model: GridModel, texts: HeaderTexts) {
    this.id = id
    this.model = model
    this.texts = texts
    this.number = element('div', 'grid-number', { role: 'columnheader', 'aria-colindex': '1' })
    this.number.textContent = texts.number
    this.fixed.append(this.number)
    this.node.append(this.fixed)
    this.stop = effect(() => {
      void model.layout.value
      void model.sorting.value
      void model.filter.value
      this.painted = ''
    })
  }

  dispose(): void {
    this.stop()
  }

  /** Shows the names of the pinned columns and of those in the range. */
  paint(columns: Range): void {
    const key = `${columns.from}-${columns.to}`
    if (this.painted === key) return
    this.painted = key
    const layout = this.model.layout.value
    this.number.style.width = `${layout.number}px`
    this.fixed.style.width = `${layout.number + (layout.edges[layout.pinned] ?? 0)}px`
    for (const { node } of this.names) node.remove()
    this.names = []
    for (let column = 0; column < layout.pinned; column += 1) this.add(this.fixed, column)
    for (let column = columns.from; column < columns.to; column += 1) this.add(this.node, column)
  }

  private add(parent: HTMLElement, column: number): void {
    const node = this.name(column)
    if (!node) return
    parent.append(node)
    this.names.push({ node, column })
  }

  private name(shown: number): HTMLElement | null {
    const place = this.model.columnAt(shown)
    if (!place) return null
    const { edges, number } = this.model.layout.value
    const attributes = { role: 'columnheader', id: `${this.id}h${shown}`, 'aria-colindex': String(shown + 2) }
    const node = element('div', 'grid-name', attributes)
    node.style.insetInlineStart = `${number + (edges[shown] as number)}px`
    node.style.width = `${(edges[shown + 1] as number) - (edges[shown] as number)}px`
    const sorting = this.model.sorting.value
    const isSorted = sorting?.column === place.index
    if (isSorted) node.setAttribute('aria-sort', sorting.descending ? 'descending' : 'ascending')
    const name = element('span', 'grid-name-text')
    name.append(...marked(place.column.name))
    const type = element('span', 'grid-type')
    type.append(...marked(place.column.type))
    const sign = element('span', 'grid-sign', { 'aria-hidden': 'true' })
    const isFiltered = this.model.filter.value?.column === place.index
    sign.textContent = (isSorted ? (sorting.descending ? '▼' : '▲') : '') + (isFiltered ? '⌕' : '')
    const menu = element('button', 'grid-menu-button', { type: 'button', tabindex: '-1' })
    menu.title = this.texts.menu(place.column.name)
    menu.setAttribute('aria-label', menu.title)
    menu.textContent = '⋮'
    const width = element('span', 'grid-width', { title: this.texts.width, 'aria-hidden': 'true' })
    node.append(name, type, sign, menu, width)
    return node
  }

  /** Marks the active name and returns its element if it is here. */
  select(active: { row: number; column: number }): HTMLElement | null {
    let found: HTMLElement | null = null
    for (const { node, column } of this.names) {
      const isActive = active.row === HEADER && active.column === column
      if (isActive) found = node
      node.classList.toggle('is-active', isActive)
    }
    return found
  }

  columnOf(node: Node): number {
    return this.names.find((name) => name.node.contains(node))?.column ?? -1
  }

  elementOf(column: number): HTMLElement | null {
    return this.names.find((name) => name.column === column)?.node ?? null
  }
}

function marked(text: string): Node[] {
  return markedParts(text).map((part) => {
    const span = element('span', part.mark ? 'grid-mark' : '')
    span.textContent = part.text
    return span
  })
}
