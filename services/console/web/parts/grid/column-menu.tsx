import { grid as texts } from '../../text/grid'
import type { IconName } from '../icon'
import { copy } from '../toast'
import { written } from './copy'
import { FloatingMenu, type FloatingItem } from './floating-menu'
import { WIDTH_STEP } from './layout'
import type { GridModel } from './model'

interface Props {
  readonly model: GridModel
  /** The place of the column as it is shown. */
  readonly column: number
  readonly anchor: HTMLElement
  readonly onFit: (column: number) => void
  readonly onClose: () => void
}

/** Everything that can be done with a column, for pointers and keys. */
export function ColumnMenu({ model, column, anchor, onFit, onClose }: Props) {
  const found = model.columnAt(column)
  if (!found) return null
  const { index } = found
  const sort = (descending: boolean): void => {
    model.sorting.value = { column: index, descending }
  }
  const wider = (by: number): void => model.setWidth(index, (model.widths.value[index] ?? 0) + by)
  const items: FloatingItem[] = [
    item(texts.ascending, 'up', () => sort(false)),
    item(texts.descending, 'down', () => sort(true)),
    ...(model.sorting.value ? [item(texts.unsorted, 'sort', () => (model.sorting.value = null))] : []),
    item(texts.filterThis, 'filter', () => (model.filter.value = { text: '', column: index })),
    item(model.pinned.value.has(index) ? texts.unpin : texts.pin, 'pin', () => model.togglePin(index)),
    ...(model.layout.value.shown.length > 1 ? [item(texts.hide, 'eye-off', () => model.hide(index))] : []),
    item(texts.fit, 'column', () => onFit(column)),
    { ...item(texts.wider, 'plus', () => wider(WIDTH_STEP * 2)), stays: true },
    { ...item(texts.narrower, 'minus', () => wider(-WIDTH_STEP * 2)), stays: true },
    item(texts.copyColumn, 'copy', () => copyColumn(model, index)),
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

const item = (label: string, icon: IconName, run: () => unknown): FloatingItem => ({
  label,
  icon,
  run: () => void run(),
})

function copyColumn(model: GridModel, index: number): void {
  const { rows } = model.shown()
  const shown = model.layout.value.shown.indexOf(index)
  const column = model.rows.columns[index]
  if (!column) return
  void copy(written({ columns: [column], rows: rows.map((row) => [row[shown] ?? null]) }, 'tsv'))
}
