import { useEffect, useRef } from 'preact/hooks'
import { grid as texts } from '../../text/grid'
import { IconButton } from '../button'
import type { GridModel } from './model'

/** Filters the loaded rows by words in all columns, or in the one that the menu of a column names. */
export function FilterField({ model }: { readonly model: GridModel }) {
  const field = useRef<HTMLInputElement>(null)
  const { value: filter } = model.filter
  const column = filter?.column ?? null
  useEffect(() => {
    if (column !== null) field.current?.focus()
  }, [column])
  const name = column === null ? null : (model.rows.columns[column]?.name ?? '')
  const label = name === null ? texts.filter : texts.filterColumn(name)
  return (
    <span class="grid-filter">
      <input
        ref={field}
        type="search"
        class="control"
        value={filter?.text ?? ''}
        placeholder={label}
        aria-label={label}
        onInput={(event) => {
          model.filter.value = { text: event.currentTarget.value, column }
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || !filter) return
          model.filter.value = null
          event.stopPropagation()
        }}
      />
      {filter && (
        <IconButton icon="close" name={texts.endFilter} onClick={() => (model.filter.value = null)} />
      )}
    </span>
  )
}
