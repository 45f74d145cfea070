import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useMemo, useRef } from 'preact/hooks'
import { grid as texts } from '../../text/grid'
import { ColumnMenu } from './column-menu'
import { CopyMenu } from './copy-menu'
import { FilterField } from './filter-field'
import { Gestures } from './gestures'
import { MIN_WIDTH, type Measure } from './layout'
import { GridModel } from './model'
import type { Rows } from './rows'
import type { Place } from './selection'
import { ValueDialog, type Shown } from './value-dialog'
import { GridView } from './view'

/** Width below which the first column is pinned. */
const NARROW = 600

interface Props {
  readonly rows: Rows
  readonly label: string
  /** Controls beside the filter. */
  readonly children?: ComponentChildren
  /** Receives the model, for what stands around the grid. */
  readonly onModel?: (model: GridModel) => void
}

/** A table of any number of rows and columns. Only what can be seen is in the document. */
export function Grid(props: Props) {
  // Another result is another grid: nothing of the old choices stays.
  return <OneGrid key={modelOf(props.rows).id} {...props} />
}

const models = new WeakMap<Rows, GridModel>()

/** The model of a result. It is kept with its rows, so that order and columns outlast another view. */
function modelOf(rows: Rows): GridModel {
  const known = models.get(rows)
  if (known) return known
  const model = new GridModel(rows, measure)
  models.set(rows, model)
  return model
}

interface OpenMenu {
  readonly column: number
  readonly anchor: HTMLElement
}

function OneGrid({ rows, label, children, onModel }: Props) {
  const id = useId()
  const host = useRef<HTMLDivElement>(null)
  const parts = useRef<{ view: GridView; gestures: Gestures } | null>(null)
  const menu = useSignal<OpenMenu | null>(null)
  const shown = useSignal<Shown | null>(null)
  const said = useSignal('')
  const model = useMemo(() => modelOf(rows), [rows])

  useEffect(() => {
    const { view, gestures } = partsOf(id, model, label, { menu, shown, said })
    parts.current = { view, gestures }
    host.current?.append(view.node)
    const width = host.current?.clientWidth ?? 0
    if (width > 0 && width < NARROW) model.pinFirst(Math.max(MIN_WIDTH, width / 3))
    // Texts measured before the font has arrived are too narrow.
    void document.fonts.load(fontOfCells()).then(() => model.fitAll())
    onModel?.(model)
    return () => {
      gestures.dispose()
      view.dispose()
      view.node.remove()
    }
  }, [model])

  const focus = (): void => parts.current?.view.node.focus()
  return (
    <div class="grid">
      <div class="grid-bar">
        <FilterField model={model} />
        {children}
        <span class="grid-space" />
        <CopyMenu model={model} onCopied={(text) => (said.value = text)} />
      </div>
      <Notes model={model} />
      <div class="grid-host" ref={host} />
      <p class="grid-said" role="status">
        {said.value}
      </p>
      <Opened
        model={model}
        shows={{ menu, shown, said }}
        onFit={(column) => parts.current?.gestures.fit(column)}
        onClose={focus}
      />
    </div>
  )
}

/** The places where a grid shows what was asked for. */
interface Shows {
  readonly menu: Signal<OpenMenu | null>
  readonly shown: Signal<Shown | null>
  readonly said: Signal<string>
}

interface OpenedProps {
  readonly model: GridModel
  readonly shows: Shows
  readonly onFit: (column: number) => void
  readonly onClose: () => void
}

/** The menu of a column or the value of a cell, while one is open. */
function Opened({ model, shows: { menu, shown }, onFit, onClose }: OpenedProps) {
  const close = (): void => {
    menu.value = null
    shown.value = null
    onClose()
  }
  if (shown.value) return <ValueDialog shown={shown.value} onClose={close} />
  if (!menu.value) return null
  const { column, anchor } = menu.value
  return <ColumnMenu model={model} column={column} anchor={anchor} onFit={onFit} onClose={close} />
}

/** Makes the part that scrolls and its gestures, and ties them to what they open. */
function partsOf(id: string, model: GridModel, label: string, { menu, shown, said }: Shows) {
  const { keys, rowNumber: number, columnMenu, width } = texts
  const view = new GridView(id, model, { label, keys, number, menu: columnMenu, width })
  const openCell = (place: Place): void => {
    const [at, found] = [model.columnAt(place.column), model.rowAt(place.row)]
    if (!at || !found) return
    shown.value = { cell: found.row[at.index] ?? null, column: at.column, row: found.number + 1 }
  }
  const gestures = new Gestures(model, view, measure, {
    openMenu: (column, anchor) => {
      menu.value = { column, anchor: anchor ?? view.node }
    },
    openCell,
    copied: (count, columns) => {
      said.value = texts.copied(count, columns)
    },
  })
  return { view, gestures }
}

/** Says what of the loaded rows is shown and in which order, and sums the selection up. */
function Notes({ model }: { readonly model: GridModel }) {
  const { value: sorting } = model.sorting
  const { value: filter } = model.filter
  const { value: summary } = model.summary
  const all = model.rows.count.value
  const notes: string[] = []
  if (filter?.text)
    notes.push(model.shownRows.value === 0 ? texts.noMatch : texts.shown(model.shownRows.value, all))
  if (sorting) notes.push(texts.sorted(model.rows.columns[sorting.column]?.name ?? ''))
  if (summary) {
    notes.push(texts.selected(summary.rows, summary.columns))
    if (summary.numbers > 1) notes.push(texts.sum(summary.sum, summary.numbers))
  }
  const hidden = model.hidden.value.size
  if (notes.length === 0 && hidden === 0) return null
  return (
    <p class="grid-notes">
      {notes.join(' · ')}
      {hidden > 0 && (
        <button type="button" class="link" onClick={() => model.showAll()}>
          {texts.showHidden(hidden)}
        </button>
      )}
    </p>
  )
}

let context: CanvasRenderingContext2D | null = null

/** Measures in the font of the cells. */
const measure: Measure = (text) => {
  context ??= document.createElement('canvas').getContext('2d')
  if (!context) return text.length * 8
  context.font = fontOfCells()
  return context.measureText(text).width
}

function fontOfCells(): string {
  return `13px ${getComputedStyle(document.documentElement).getPropertyValue('--mono') || 'monospace'}`
}
