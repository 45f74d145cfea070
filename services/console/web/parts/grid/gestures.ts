/** Keys and pointers of a grid. */
import { cellText } from './cell'
import { fittingWidth, WIDTH_STEP, type Measure } from './layout'
import type { GridModel } from './model'
import { at, everything, HEADER, isSingle, moved, type Place } from './selection'
import type { GridView } from './view'

/** Things that a grid asks its surroundings to do. */
export interface GridActions {
  openMenu(column: number, anchor: HTMLElement | null): void
  openCell(place: Place): void
  copied(rows: number, columns: number): void
}

export class Gestures {
  private readonly model: GridModel
  private readonly view: GridView
  private readonly actions: GridActions
  private readonly measure: Measure
  private readonly ending = new AbortController()
  private tappedAgain = false

  constructor(model: GridModel, view: GridView, measure: Measure, actions: GridActions) {
    this.model = model
    this.view = view
    this.actions = actions
    this.measure = measure
    const options = { signal: this.ending.signal }
    const { node } = view
    node.addEventListener('keydown', (event) => this.key(event), options)
    node.addEventListener('copy', (event) => this.copy(event), options)
    node.addEventListener('pointerdown', (event) => this.press(event), options)
    node.addEventListener('dblclick', (event) => this.pressTwice(event), options)
    node.addEventListener('click', (event) => this.click(event), options)
    node.addEventListener('contextmenu', (event) => this.context(event), options)
  }

  dispose(): void {
    this.ending.abort()
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.isComposing) return
    const control = event.ctrlKey || event.metaKey
    const { active } = this.model.selection.value
    if (active.row === HEADER && this.keyOfName(event, active.column)) return void event.preventDefault()
    if (control && event.key.toLowerCase() === 'a') {
      this.model.selection.value = everything(this.model.bounds(this.view.page))
      return void event.preventDefault()
    }
    if (event.key === 'Enter' && active.row !== HEADER) {
      this.actions.openCell(active)
      return void event.preventDefault()
    }
    if (event.key === 'Escape' && !isSingle(this.model.selection.value)) {
      this.model.selection.value = at(active.row, active.column)
      return void event.preventDefault()
    }
    const press = { key: event.key, shift: event.shiftKey, control, mirrored: this.view.isMirrored }
    const next = moved(this.model.selection.value, press, this.model.bounds(this.view.page))
    if (!next) return
    event.preventDefault()
    this.model.selection.value = next
    this.view.reveal(next.active)
  }

  /** Keys on a name: Enter opens its menu, Space sorts, Shift with arrows changes the width. */
  private keyOfName(event: KeyboardEvent, shown: number): boolean {
    const index = this.model.columnAt(shown)?.index
    if (index === undefined) return false
    if (event.key === 'Enter' || event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey)) {
      this.actions.openMenu(shown, this.view.nameElement(shown))
      return true
    }
    if (event.key === ' ') {
      this.model.sortNext(index)
      return true
    }
    if (event.shiftKey && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
      const wider = (event.key === 'ArrowRight') !== this.view.isMirrored
      this.model.setWidth(index, (this.model.widths.value[index] ?? 0) + (wider ? WIDTH_STEP : -WIDTH_STEP))
      return true
    }
    return false
  }

  /** Copies the selection as TSV without names, which is what spreadsheets paste. */
  private copy(event: ClipboardEvent): void {
    if (!event.clipboardData) return
    const copied = this.model.selected()
    const [cell] = copied.rows[0] ?? []
    // A single cell is copied as it is, without quotes around its lines.
    const isOne = copied.rows.length === 1 && copied.columns.length === 1 && cell !== undefined
    event.clipboardData.setData('text/plain', isOne ? cellText(cell) : this.model.copyText('tsv'))
    event.preventDefault()
    this.actions.copied(copied.rows.length, copied.columns.length)
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0 || !(event.target instanceof Element)) return
    const place = this.view.placeOf(event.target)
    if (!place) return
    if (event.target.classList.contains('grid-width')) return this.dragWidth(event, place.column)
    if (place.row === HEADER) return
    const { active } = this.model.selection.value
    this.tappedAgain =
      event.pointerType === 'touch' && active.row === place.row && active.column === place.column
    this.selectAt(place, event.shiftKey)
    // A finger scrolls; a mouse or pen selects.
    if (event.pointerType !== 'touch') this.dragSelection(event)
  }

  /** Selects a cell, or extends the selection to it. A row number selects the row. */
  private selectAt({ row, column }: Place, extend: boolean): void {
    const { selection } = this.model
    const last = this.model.bounds(1).columns - 1
    const { anchor } = selection.value
    const from = extend && anchor.row !== HEADER ? anchor : { row, column: Math.max(column, 0) }
    selection.value =
      column < 0
        ? { anchor: { row: from.row, column: last }, active: { row, column: 0 } }
        : { anchor: from, active: { row, column } }
  }

  private dragSelection(start: PointerEvent): void {
    const { node } = this.view
    const move = (event: PointerEvent): void => {
      const under = document.elementFromPoint(event.clientX, event.clientY)
      const place = under && node.contains(under) ? this.view.placeOf(under) : null
      const next = place && place.row !== HEADER && place.column >= 0 ? place : this.beyond(event)
      if (!next) return
      const { anchor, active } = this.model.selection.value
      if (next.row === active.row && next.column === active.column) return
      this.model.selection.value = { anchor, active: next }
      this.view.reveal(next)
    }
    this.track(start, move)
  }

  /** The next cell in the direction of a pointer that left the grid. */
  private beyond({ clientX, clientY }: PointerEvent): Place | null {
    const { left, right, top, bottom } = this.view.node.getBoundingClientRect()
    const { active } = this.model.selection.value
    const { rows, columns } = this.model.bounds(1)
    const row = clientY < top ? active.row - 1 : clientY > bottom ? active.row + 1 : active.row
    const column = clientX < left ? active.column - 1 : clientX > right ? active.column + 1 : active.column
    if (row < 0 || row >= rows || column < 0 || column >= columns) return null
    return { row, column }
  }

  private dragWidth(start: PointerEvent, shown: number): void {
    const index = this.model.columnAt(shown)?.index
    if (index === undefined) return
    const before = this.model.widths.value[index] ?? 0
    const side = this.view.isMirrored ? -1 : 1
    start.preventDefault()
    this.track(start, (event) => this.model.setWidth(index, before + side * (event.clientX - start.clientX)))
  }

  private track(start: PointerEvent, move: (event: PointerEvent) => void): void {
    const ending = new AbortController()
    const options = { signal: AbortSignal.any([ending.signal, this.ending.signal]) }
    const stop = (): void => ending.abort()
    const mine = (event: PointerEvent): boolean => event.pointerId === start.pointerId
    window.addEventListener('pointermove', (event) => void (mine(event) && move(event)), options)
    window.addEventListener('pointerup', stop, options)
    window.addEventListener('pointercancel', stop, options)
  }

  private pressTwice(event: MouseEvent): void {
    const place = event.target instanceof Element ? this.view.placeOf(event.target) : null
    if (!place || !(event.target instanceof Element)) return
    if (place.row !== HEADER) {
      if (place.column >= 0) this.actions.openCell(place)
    } else if (event.target.classList.contains('grid-width')) {
      this.fit(place.column)
    }
  }

  /** Makes a column as wide as its loaded rows need. */
  fit(shown: number): void {
    const found = this.model.columnAt(shown)
    if (!found) return
    const width = fittingWidth(found.column, found.index, this.model.rows.all, this.measure)
    this.model.setWidth(found.index, width)
  }

  private click(event: MouseEvent): void {
    if (!(event.target instanceof Element)) return
    const place = this.view.placeOf(event.target)
    // A finger has no double click: a second tap shows the value.
    if (place && place.row !== HEADER && this.tappedAgain) return this.actions.openCell(place)
    if (place?.row !== HEADER || event.target.classList.contains('grid-width')) return
    this.model.selection.value = at(HEADER, place.column)
    const index = this.model.columnAt(place.column)?.index
    if (event.target.closest('.grid-menu-button'))
      this.actions.openMenu(place.column, event.target as HTMLElement)
    else if (index !== undefined) this.model.sortNext(index)
  }

  private context(event: MouseEvent): void {
    if (!(event.target instanceof Element)) return
    const place = this.view.placeOf(event.target)
    if (place?.row !== HEADER) return
    event.preventDefault()
    this.actions.openMenu(place.column, this.view.nameElement(place.column))
  }
}
