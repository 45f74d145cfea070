import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useMemo, useRef } from 'preact/hooks'
import { grid as texts } from '../../text/grid'
import { ColumnMenu } from './column-menu'
import { CopyMenu } from './copy-menu'
import { FilterField } from './filter-field'
import { Gestures } from './gestures'
import type { Measure } from './layout'
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
  return <OneGrid key={identity(props.rows)} {...props} />
}

const identities = new WeakMap<Rows, number>()
let next = 0

function identity(rows: Rows): number {
  const known = identities.get(rows)
  if (known !== undefined) return known
  identities.set(rows, ++next)
  return next
}

interface OpenMenu {
  readonly column: number
  readonly anchor: DOMRect
}

function OneGrid({ rows, label, children, onModel }: Props) {
  const id = useId()
  const host = useRef<HTMLDivElement>(null)
  const parts = useRef<{ view: GridView; gestures: Gestures } | null>(null)
  const menu = useSignal<OpenMenu | null>(null)
  const shown = useSignal<Shown | null>(null)
  const said = useSignal('')
  const model = useMemo(() => new GridModel(rows, measure), [rows])

  useEffect(() => {
    const view = new GridView(id, model, {
      label,
      number: texts.rowNumber,
      menu: texts.columnMenu,
      width: texts.width,
    })
    const openCell = (place: Place): void => {
      const [at, found] = [model.columnAt(place.column), model.rowAt(place.row)]
      if (at && found) {
        shown.value = { cell: found.row[at.index] ?? null, column: at.column, row: found.number + 1 }
      }
    }
    const gestures = new Gestures(model, view, measure, {
      openMenu: (column, anchor) => {
        menu.value = { column, anchor: (anchor ?? view.node).getBoundingClientRect() }
      },
      openCell,
      copied: (count, columns) => {
        said.value = texts.copied(count, columns)
      },
    })
    parts.current = { view, gestures }
    host.current?.append(view.node)
    pinFirstIfNarrow(model, host.current)
    onModel?.(model)
    return () => {
      gestures.dispose()
      view.dispose()
      view.node.remove()
      model.dispose()
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
      {menu.value && (
        <ColumnMenu
          model={model}
          column={menu.value.column}
          anchor={menu.value.anchor}
          onFit={(column) => parts.current?.gestures.fit(column)}
          onClose={() => {
            menu.value = null
            focus()
          }}
        />
      )}
      {shown.value && (
        <ValueDialog
          shown={shown.value}
          onClose={() => {
            shown.value = null
            focus()
          }}
        />
      )}
    </div>
  )
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

function pinFirstIfNarrow(model: GridModel, host: HTMLElement | null): void {
  if (!host || host.clientWidth >= NARROW || host.clientWidth === 0 || model.rows.columns.length < 2) return
  model.pinned.value = new Set([0])
  model.setWidth(0, Math.min(model.widths.value[0] ?? 0, host.clientWidth / 3))
}

let context: CanvasRenderingContext2D | null = null

/** Measures in the font of the cells. */
const measure: Measure = (text) => {
  context ??= document.createElement('canvas').getContext('2d')
  if (!context) return text.length * 8
  const style = getComputedStyle(document.documentElement)
  context.font = `13px ${style.getPropertyValue('--mono') || 'monospace'}`
  return context.measureText(text).width
}
