import type { RefObject } from 'preact'
import { useId } from 'preact/hooks'
import { Foreign } from './foreign'
import { Icon } from './icon'

interface Props {
  label: string
  hint?: string
  names: readonly string[]
  chosen: readonly string[]
  onChoose: (names: string[]) => void
  /** Text for a name, if it is another one. */
  textOf?: (name: string) => string
  error?: string | null
  control?: RefObject<HTMLInputElement | null>
}

/** A group of boxes for some of several names. `control` gets the first box. */
export function CheckList({ label, hint, names, chosen, onChoose, textOf = String, error = null, control }: Props) {
  const id = useId()
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <fieldset class="check-list" {...(described && { 'aria-describedby': described })}>
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
      {error && (
        <p class="field-error" id={`${id}-error`}>
          <Icon name="error" size={16} /> {error}
        </p>
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </fieldset>
  )
}
