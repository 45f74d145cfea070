import { useEffect, useRef } from 'preact/hooks'
import { IconButton } from '../../parts/button'
import { Foreign } from '../../parts/foreign'
import { Icon } from '../../parts/icon'
import { moveFocus } from '../../parts/roving'
import { sql as texts } from '../../text/sql'
import type { Sheet } from './sheet'
import type { Work } from './work'

/** The tabs of the editor. Delete closes one, as the sign on it does for pointers. */
export function SheetTabs({ work }: { readonly work: Work }) {
  const list = useRef<HTMLDivElement>(null)
  const { value: current } = work.current
  useEffect(() => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [current])
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!list.current) return
    if (event.key === 'Delete' && current) {
      event.preventDefault()
      work.close(current)
      requestAnimationFrame(() => list.current?.querySelector<HTMLElement>('[aria-selected=true]')?.focus())
      return
    }
    if (!moveFocus(event, list.current, '[role=tab]', 'horizontal')) return
    const id = (document.activeElement as HTMLElement).dataset.id
    const sheet = work.sheets.value.find((found) => found.id === id)
    if (sheet) work.choose(sheet)
  }
  return (
    <div class="sheet-tabs">
      <div role="tablist" aria-label={texts.sheets} ref={list} onKeyDown={onKeyDown}>
        {work.sheets.value.map((sheet) => (
          <SheetTab key={sheet.id} work={work} sheet={sheet} isCurrent={sheet === current} />
        ))}
      </div>
      <IconButton icon="plus" name={texts.newSheet} onClick={() => work.add('')} />
    </div>
  )
}

function SheetTab({
  work,
  sheet,
  isCurrent,
}: {
  readonly work: Work
  readonly sheet: Sheet
  readonly isCurrent: boolean
}) {
  const title = sheet.title.value
  return (
    <button
      type="button"
      role="tab"
      class="sheet-tab"
      data-id={sheet.id}
      aria-selected={isCurrent}
      aria-controls="sql-sheet"
      aria-keyshortcuts="Delete"
      aria-description={texts.closeHint}
      tabIndex={isCurrent ? 0 : -1}
      onClick={(event) => {
        if (event.target instanceof Element && event.target.closest('.sheet-close')) work.close(sheet)
        else work.choose(sheet)
      }}
      onAuxClick={(event) => {
        if (event.button === 1) work.close(sheet)
      }}
    >
      {sheet.busy.value && <span class="busy-sign" aria-hidden="true" />}
      {sheet.isChanged.value && (
        <span class="changed-sign">
          <span class="spoken">{texts.unsaved}</span>
        </span>
      )}
      <Foreign text={title} />
      <span class="sheet-close" title={texts.closeSheet(title)} aria-hidden="true">
        <Icon name="close" size={14} />
      </span>
    </button>
  )
}
