import type { ComponentChildren, RefObject } from 'preact'
import { useId } from 'preact/hooks'
import { Icon } from './icon'

interface Around {
  label: string
  hint?: ComponentChildren
  /** Sentence about a wrong value, beside the control. */
  error?: string | null
  /** Keeps the label for screen readers and hides it from view. */
  quiet?: boolean
  class?: string
}

/** Attributes that tie a control to its label, hint and error. */
export interface Tied {
  id: string
  'aria-describedby'?: string
  'aria-invalid'?: boolean
}

/** A label, a control, a hint and an error. */
export function Field({ label, hint, error, quiet, class: extra = '', children }: Around & { children: (tied: Tied) => ComponentChildren }) {
  const id = useId()
  const notes = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  const tied: Tied = { id, ...(notes && { 'aria-describedby': notes }), ...(error && { 'aria-invalid': true }) }
  return (
    <div class={`field ${extra}`}>
      <label for={id} class={quiet ? 'spoken' : ''}>
        {label}
      </label>
      {children(tied)}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          <Icon name="error" size={16} /> {error}
        </p>
      )}
    </div>
  )
}

interface Typed<E> {
  value: string
  onText: (value: string) => void
  name?: string
  placeholder?: string
  autocomplete?: string
  /** Has the focus when the dialog around it opens. */
  autofocus?: boolean
  disabled?: boolean
  required?: boolean
  /** Spelling is not checked in names, code and values. */
  spellcheck?: boolean
  class?: string
  control?: RefObject<E | null>
  onKeyDown?: (event: KeyboardEvent) => void
}

/** A field for one line of text. */
export function TextField({ label, hint, error, quiet, onText, control, autofocus, type = 'text', ...rest }: Around & Typed<HTMLInputElement> & { type?: 'text' | 'password' | 'search' | 'number' }) {
  return (
    <Field label={label} hint={hint} quiet={quiet ?? false} error={error ?? null}>
      {(tied) => <input spellcheck={false} {...rest} {...tied} {...(autofocus && { 'data-autofocus': '' })} ref={control ?? null} type={type as 'text'} class={`control ${rest.class ?? ''}`} onInput={(event) => onText(event.currentTarget.value)} />}
    </Field>
  )
}

/** A field for several lines of text. */
export function TextArea({ label, hint, error, quiet, onText, control, autofocus, rows = 4, ...rest }: Around & Typed<HTMLTextAreaElement> & { rows?: number }) {
  return (
    <Field label={label} hint={hint} quiet={quiet ?? false} error={error ?? null}>
      {(tied) => <textarea spellcheck={false} {...rest} {...tied} {...(autofocus && { 'data-autofocus': '' })} rows={rows} ref={control ?? null} class={`control ${rest.class ?? ''}`} onInput={(event) => onText(event.currentTarget.value)} />}
    </Field>
  )
}

/** One of the values that a `Select` offers. */
export interface Choice {
  value: string
  label: string
}

/** A field for one of a few values. */
export function Select({
  label,
  hint,
  error,
  quiet,
  choices,
  value,
  onChoose,
  disabled,
}: Around & { choices: readonly Choice[]; value: string; onChoose: (value: string) => void; disabled?: boolean }) {
  return (
    <Field label={label} hint={hint} quiet={quiet ?? false} error={error ?? null}>
      {(tied) => (
        <select {...tied} class="control" disabled={disabled ?? false} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** A setting that is on or off and takes effect at once. */
export function Switch({ label, on, onToggle, disabled }: { label: string; on: boolean; onToggle: (on: boolean) => void; disabled?: boolean }) {
  return (
    <label class="switch">
      <input type="checkbox" role="switch" checked={on} disabled={disabled ?? false} onChange={(event) => onToggle(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  )
}
