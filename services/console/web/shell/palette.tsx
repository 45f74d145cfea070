import { signal } from '@preact/signals'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Foreign } from '../parts/foreign'
import { Icon } from '../parts/icon'
import { shell } from '../text/shell'
import { type Command, find } from './commands'

/** Is true while the palette is shown. */
export const paletteOpen = signal(false)

/** Finds screens, databases, tables and actions by words, and goes there. */
export function Palette({ commands }: { commands: Command[] }) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [words, setWords] = useState('')
  const [at, setAt] = useState(0)
  const found = find(words, commands)
  const close = () => {
    paletteOpen.value = false
  }
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [at, words])

  const choose = (command: Command | undefined) => {
    if (!command) return
    dialog.current?.close()
    close()
    command.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && found.length) {
      event.preventDefault()
      setAt((at + step + found.length) % found.length)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      choose(found[at])
    }
  }
  return (
    <dialog
      ref={dialog}
      class="dialog palette"
      aria-label={shell.palette.title}
      onClose={close}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close()
      }}
    >
      <div class="palette-box">
        <div class="palette-field">
          <Icon name="search" />
          <input
            type="text"
            role="combobox"
            aria-label={shell.palette.title}
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-autocomplete="list"
            {...(found.length && { 'aria-activedescendant': `${id}-${at}` })}
            placeholder={shell.palette.hint}
            autocomplete="off"
            spellcheck={false}
            value={words}
            onInput={(event) => {
              setWords(event.currentTarget.value)
              setAt(0)
            }}
            onKeyDown={onKeyDown}
          />
          <kbd>Esc</kbd>
        </div>
        <div class="palette-list" role="listbox" id={`${id}-list`} aria-label={shell.palette.title} ref={list}>
          {found.map((command, index) => (
            <div
              key={`${index}-${command.label}`}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              class="palette-line"
              onPointerMove={() => setAt(index)}
              onClick={() => choose(command)}
            >
              <Icon name={command.icon} size={16} />
              <span class="palette-label">
                <Foreign text={command.label} />
              </span>
              {command.note && <span class="menu-note">{command.note}</span>}
            </div>
          ))}
        </div>
        {found.length === 0 && (
          <p class="palette-none muted" role="status">
            {shell.palette.none}
          </p>
        )}
      </div>
    </dialog>
  )
}
