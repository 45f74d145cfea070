import type { RefObject } from 'preact'
import { useId } from 'preact/hooks'
import { Foreign } from './foreign'
import { Icon } from './icon'

interface Props {
  label: string
  /** A hint, or what is wrong. */
  note?: { text: string; isError?: boolean } | null
  names: readonly string[]
  chosen: readonly string[]
  onChoose: (names: string[]) => void
  textOf?: (name: string) => string
  control?: RefObject<HTMLInputElement | null>
}

/** A group of boxes for some of several names. `control` is given the first box. */
export function CheckList({ label, note = null, names, chosen, onChoose, textOf = String, control }: Props) {
  const id = useId()
  return (
    <fieldset class="check-list" {...(note && { 'aria-describedby': id })}>
      <legend>{label}</legend>
      <div class="check-list-boxes">
        {names.map((name, at) => (
          <label key={name} class="check">
            <input
              {...(at === 0 && control && { ref: control })}
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event) => onChoose(event.currentTarget.checked ? [...chosen, name] : chosen.filter((other) => other !== name))}
            />
            <Foreign text={textOf(name)} />
          </label>
        ))}
      </div>
      {note && (
        <p class={note.isError ? 'field-error' : 'hint'} id={id}>
          {note.isError && <Icon name="error" size={16} />} {note.text}
        </p>
      )}
    </fieldset>
  )
}
