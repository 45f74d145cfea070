import { useId } from 'preact/hooks'
import { Foreign } from './foreign'

/** A group of boxes for some of several names. */
export function CheckList({ label, hint, names, chosen, onChoose }: { label: string; hint?: string; names: readonly string[]; chosen: readonly string[]; onChoose: (names: string[]) => void }) {
  const id = useId()
  return (
    <fieldset class="check-list" {...(hint && { 'aria-describedby': `${id}-hint` })}>
      <legend>{label}</legend>
      <div class="check-list-boxes">
        {names.map((name) => (
          <label key={name} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event) => onChoose(event.currentTarget.checked ? [...chosen, name] : chosen.filter((other) => other !== name))}
            />
            <Foreign text={name} />
          </label>
        ))}
      </div>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </fieldset>
  )
}
