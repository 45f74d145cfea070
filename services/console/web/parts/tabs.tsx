import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { moveFocus } from './roving'

/** One of several views of the same place. */
export interface Tab {
  name: string
  title: ComponentChildren
}

/** Tabs with the panel of the chosen one. Arrows move and choose; Tab goes into the panel. */
export function Tabs({
  label,
  tabs,
  current,
  onChoose,
  children,
  end,
}: {
  label: string
  tabs: readonly Tab[]
  current: string
  onChoose: (name: string) => void
  children: ComponentChildren
  /** Facts or buttons at the end of the row. */
  end?: ComponentChildren
}) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const onKeyDown = (event: KeyboardEvent) => {
    if (!list.current || !moveFocus(event, list.current, '[role=tab]', 'horizontal')) return
    const name = (document.activeElement as HTMLElement).dataset.name
    if (name !== undefined) onChoose(name)
  }
  return (
    <div class="tabs">
      <div class="tabs-row">
        <div role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
          {tabs.map(({ name, title }) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`${id}-${name}`}
              data-name={name}
              aria-selected={name === current}
              aria-controls={`${id}-panel`}
              tabIndex={name === current ? 0 : -1}
              onClick={() => onChoose(name)}
            >
              {title}
            </button>
          ))}
        </div>
        {end && <div class="tabs-end">{end}</div>}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current}`} class="tabs-panel" tabIndex={-1}>
        {children}
      </div>
    </div>
  )
}
