import { useEffect, useId, useState } from 'preact/hooks'
import { Button, IconButton } from '../../parts/button'
import { Field, type Tied } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { tools as text } from '../../text/tools'
import { type Control, controlFor, type Draft, type Schema, withoutNull } from './schema'

/** Finds values for an argument while a person types. */
export type Complete = (argument: string, value: string, signal: AbortSignal) => Promise<string[]>

interface Around {
  errors: Record<string, string>
  complete?: Complete | undefined
}

/** Fields for the members of an object. */
export function SchemaForm({ schema, draft, onChange, path = '', depth = 0, ...around }: Around & { schema: Schema; draft: Draft; onChange: (draft: Draft) => void; path?: string; depth?: number }) {
  const members = (draft ?? {}) as Record<string, Draft>
  const entries = Object.entries(schema.properties ?? {})
  const required = (name: string) => schema.required?.includes(name) ?? false
  entries.sort(([a], [b]) => Number(required(b)) - Number(required(a)))
  return (
    <>
      {entries.map(([name, member]) => (
        <Member
          key={name}
          name={name}
          path={path ? `${path}.${name}` : name}
          schema={member}
          required={required(name)}
          draft={members[name]}
          depth={depth + 1}
          onChange={(value) => onChange({ ...members, [name]: value })}
          {...around}
        />
      ))}
    </>
  )
}

interface MemberProps extends Around {
  name: string
  path: string
  schema: Schema
  required: boolean
  draft: Draft
  depth: number
  onChange: (draft: Draft) => void
}

function Member(props: MemberProps) {
  const { name, schema: raw, required, path, errors, depth } = props
  const schema = withoutNull(raw)
  const control = controlFor(schema, depth)
  if (control === 'object') {
    return (
      <fieldset class="member-object">
        <legend>{name}</legend>
        {schema.description && (
          <p class="hint">
            <Foreign text={schema.description} />
          </p>
        )}
        <SchemaForm {...props} schema={schema} />
      </fieldset>
    )
  }
  if (control === 'list') return <ListMember {...props} schema={schema} />
  const fallback = schema.default !== undefined && schema.default !== null ? text.defaultIs(typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default)) : null
  const hint = [schema.description && sentence(schema.description), fallback].filter(Boolean).join(' ')
  const wide = required || control === 'json' || isSql(name, control)
  return (
    <Field class={wide ? 'whole' : ''} label={required ? name : `${name} (${text.optional})`} hint={hint && <Foreign text={hint} />} error={errors[path] ?? null}>
      {(tied) => <Input {...props} schema={schema} control={control} tied={tied} />}
    </Field>
  )
}

const sentence = (words: string) => (/[.!?:]$/.test(words) ? words : `${words}.`)

const isSql = (name: string, control: Control) => control === 'text' && /^(query|sql|statement)$/i.test(name)

function Input({ name, schema, control, draft, required, onChange, tied, complete }: MemberProps & { control: Control; tied: Tied }) {
  const typed = typeof draft === 'string' ? draft : ''
  const onText = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value)
  if (control === 'choice' || control === 'boolean') {
    const values = control === 'boolean' ? [text.yes, text.no] : (schema.enum ?? []).map(String)
    const value = control === 'boolean' ? (draft === undefined ? '' : draft ? text.yes : text.no) : typed
    const read = (chosen: string): Draft => (chosen === '' ? undefined : control === 'boolean' ? chosen === text.yes : chosen)
    return (
      <select {...tied} class="control" value={value} onChange={(event) => onChange(read(event.currentTarget.value))}>
        {(!required || value === '') && <option value="">{text.notSet}</option>}
        {values.map((item) => (
          <option key={item} value={item}>
            {item}
          </option>
        ))}
      </select>
    )
  }
  if (control === 'json' || isSql(name, control)) {
    return <textarea {...tied} class="control mono" rows={control === 'json' ? 4 : 5} spellcheck={false} value={typed} onInput={onText} required={required} />
  }
  if (complete && control === 'text') return <Completed name={name} typed={typed} onText={(value) => onChange(value)} tied={tied} complete={complete} />
  return <input {...tied} type="text" class="control mono" inputMode={control === 'text' ? 'text' : 'decimal'} spellcheck={false} autocomplete="off" value={typed} onInput={onText} required={required} />
}

function Completed({ name, typed, onText, tied, complete }: { name: string; typed: string; onText: (value: string) => void; tied: Tied; complete: Complete }) {
  const id = useId()
  const [values, setValues] = useState<string[]>([])
  const [focused, setFocused] = useState(false)
  useEffect(() => {
    if (!focused) return
    const stop = new AbortController()
    const timer = setTimeout(() => complete(name, typed, stop.signal).then((found) => stop.signal.aborted || setValues(found)), 150)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [typed, focused])
  return (
    <>
      <input
        {...tied}
        type="text"
        class="control mono"
        list={id}
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      <datalist id={id}>
        {values.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
    </>
  )
}

function ListMember({ name, path, schema, required, draft, onChange, errors }: MemberProps) {
  const rows = Array.isArray(draft) ? draft : []
  const items = withoutNull(schema.items ?? {})
  return (
    <fieldset class="member-list">
      <legend>{required ? name : `${name} (${text.optional})`}</legend>
      {schema.description && (
        <p class="hint">
          <Foreign text={schema.description} />
        </p>
      )}
      {rows.map((row, at) => (
        <div key={at} class="member-row">
          <Field label={text.value(at + 1)} quiet error={errors[`${path}.${at}`] ?? null}>
            {(tied) => (
              <Input
                {...{ name, path, required: true, depth: 0, errors }}
                schema={items}
                control={controlFor(items)}
                draft={row}
                tied={tied}
                onChange={(value) => onChange(rows.map((other, index) => (index === at ? value : other)))}
              />
            )}
          </Field>
          <IconButton icon="close" name={text.removeRow} tip="end" onClick={() => onChange(rows.filter((_, index) => index !== at))} />
        </div>
      ))}
      {errors[path] && <p class="field-error">{errors[path]}</p>}
      <Button kind="quiet" icon="plus" onClick={() => onChange([...rows, ''])}>
        {text.addRow}
      </Button>
    </fieldset>
  )
}
