import { grid as texts } from '../../text/grid'
import { written } from './copy'
import { FloatingMenu, type MenuItem } from './floating-menu'
import { WIDTH_STEP } from './layout'
import type { GridModel } from './model'

interface Props {
  readonly model: GridModel
  /** The place of the column as it is shown. */
  readonly column: number
  readonly anchor: DOMRect
  readonly onFit: (column: number) => void
  readonly onClose: () => void
}

/** Everything that can be done with a column, for pointers and keys. */
export function ColumnMenu({ model, column, anchor, onFit, onClose }: Props) {
  const found = model.columnAt(column)
  if (!found) return null
  const { index } = found
  const wider = (by: number): void => model.setWidth(index, (model.widths.value[index] ?? 0) + by)
  const items: MenuItem[] = [
    { text: texts.ascending, run: () => (model.sorting.value = { column: index, descending: false }) },
    { text: texts.descending, run: () => (model.sorting.value = { column: index, descending: true }) },
    ...(model.sorting.value ? [{ text: texts.unsorted, run: () => (model.sorting.value = null) }] : []),
    { text: texts.filterThis, run: () => (model.filter.value = { text: '', column: index }) },
    { text: model.pinned.value.has(index) ? texts.unpin : texts.pin, run: () => model.togglePin(index) },
    ...(model.layout.value.shown.length > 1 ? [{ text: texts.hide, run: () => model.hide(index) }] : []),
    { text: texts.fit, run: () => onFit(column) },
    { text: texts.wider, run: () => wider(WIDTH_STEP * 2), stays: true },
    { text: texts.narrower, run: () => wider(-WIDTH_STEP * 2), stays: true },
    { text: texts.copyColumn, run: () => void copyColumn(model, index) },
  ]
  return (
    <FloatingMenu
      label={texts.columnMenu(found.column.name)}
      items={items}
      anchor={anchor}
      onClose={onClose}
    />
  )
}

async function copyColumn(model: GridModel, index: number): Promise<void> {
  const { rows } = model.shown()
  const shown = model.layout.value.shown.indexOf(index)
  const column = model.rows.columns[index]
  if (!column) return
  const one = { columns: [column], rows: rows.map((row) => [row[shown] ?? null]) }
  await navigator.clipboard.writeText(written(one, 'tsv'))
}
