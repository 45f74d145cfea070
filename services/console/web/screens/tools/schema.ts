/** The part of JSON Schema from which forms are made. */
export interface Schema {
  type?: string | string[]
  title?: string
  description?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  format?: string
}

export type Control = 'text' | 'number' | 'integer' | 'choice' | 'boolean' | 'list' | 'object' | 'json'

/** Input of a person: texts as typed, lists and objects of them. `undefined` is not sent. */
export type Draft = string | boolean | undefined | Draft[] | { [name: string]: Draft }

const DEEPEST = 3

/** Takes away the variant `null`, which a form expresses by leaving the field empty. */
export function withoutNull(schema: Schema): Schema {
  const variants = schema.anyOf ?? schema.oneOf
  if (variants) {
    const rest = variants.filter((variant) => variant.type !== 'null')
    const [only] = rest
    return rest.length === 1 && only ? { ...only, ...pick(schema) } : schema
  }
  if (!Array.isArray(schema.type)) return schema
  const rest = schema.type.filter((type) => type !== 'null')
  const [only] = rest
  return rest.length === 1 && only ? { ...schema, type: only } : schema
}

function pick({ title, description, default: value }: Schema): Schema {
  return { ...(title && { title }), ...(description && { description }), ...(value !== undefined && { default: value }) }
}

/** Chooses the control for a value; JSON where a form would not be simpler. */
export function controlFor(raw: Schema, depth = 0): Control {
  const schema = withoutNull(raw)
  if (schema.enum) return schema.enum.every((value) => typeof value === 'string' || typeof value === 'number') ? 'choice' : 'json'
  if (schema.anyOf || schema.oneOf || Array.isArray(schema.type)) return 'json'
  switch (schema.type) {
    case 'string':
      return 'text'
    case 'number':
    case 'integer':
    case 'boolean':
      return schema.type
    case 'array':
      return schema.items && ['text', 'number', 'integer', 'choice'].includes(controlFor(schema.items, depth + 1)) ? 'list' : 'json'
    case 'object':
      return schema.properties && depth < DEEPEST ? 'object' : 'json'
    default:
      return 'json'
  }
}

/** Turns a value, such as a default or edited JSON, into what the form shows. */
export function draftOf(schema: Schema, value: unknown, depth = 0): Draft {
  const control = controlFor(schema, depth)
  if (control === 'object') {
    const members = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, member]) => [name, draftOf(member, members[name] ?? (value === undefined ? member.default : undefined), depth + 1)]),
    )
  }
  if (value === undefined || value === null) return control === 'list' ? [] : undefined
  if (control === 'list') return Array.isArray(value) ? value.map(String) : []
  if (control === 'boolean') return value === true
  if (control === 'json') return JSON.stringify(value, null, 2)
  return String(value)
}

/** A value to be sent, or the reasons why there is none, by the path of the field. */
export interface Collected {
  value: unknown
  errors: Record<string, string>
}

/** Reads a form. Empty optional fields are left out. */
export function collect(raw: Schema, draft: Draft, texts: Texts, path = '', required = false, depth = 0): Collected {
  const schema = withoutNull(raw)
  const control = controlFor(schema, depth)
  if (control === 'object') return collectObject(schema, draft, texts, path, depth)
  if (control === 'list') return collectList(schema, draft, texts, path, required)
  if (control === 'boolean') {
    return draft === undefined && required ? failed(path, texts.required) : { value: draft, errors: {} }
  }
  const typed = typeof draft === 'string' ? draft : ''
  if (typed === '' && (control !== 'text' || !required || schema.minLength)) {
    return required ? failed(path, texts.required) : { value: undefined, errors: {} }
  }
  if (control === 'text' && typed === '' && required) return failed(path, texts.required)
  return collectScalar(schema, control, typed, texts, path)
}

/** Sentences about wrong values. */
export interface Texts {
  required: string
  number: string
  integer: string
  json: string
  least: (least: number) => string
  most: (most: number) => string
}

const failed = (path: string, sentence: string): Collected => ({ value: undefined, errors: { [path]: sentence } })

function collectScalar(schema: Schema, control: Control, typed: string, texts: Texts, path: string): Collected {
  if (control === 'json') {
    try {
      return { value: JSON.parse(typed), errors: {} }
    } catch {
      return failed(path, texts.json)
    }
  }
  if (control === 'choice') return { value: schema.enum?.find((value) => String(value) === typed), errors: {} }
  if (control === 'text') return { value: typed, errors: {} }
  const value = Number(typed)
  if (typed.trim() === '' || !Number.isFinite(value)) return failed(path, texts.number)
  if (control === 'integer' && !Number.isInteger(value)) return failed(path, texts.integer)
  if (schema.minimum !== undefined && value < schema.minimum) return failed(path, texts.least(schema.minimum))
  if (schema.maximum !== undefined && value > schema.maximum) return failed(path, texts.most(schema.maximum))
  return { value, errors: {} }
}

function collectObject(schema: Schema, draft: Draft, texts: Texts, path: string, depth: number): Collected {
  const members = (draft ?? {}) as Record<string, Draft>
  const value: Record<string, unknown> = {}
  const errors: Record<string, string> = {}
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const isRequired = schema.required?.includes(name) ?? false
    const found = collect(member, members[name], texts, path ? `${path}.${name}` : name, isRequired, depth + 1)
    Object.assign(errors, found.errors)
    const empty = controlFor(member, depth + 1) === 'object' && !isRequired && Object.keys((found.value ?? {}) as object).length === 0
    // The server has its own default, which may depend on the other arguments.
    const isDefault = !isRequired && found.value === withoutNull(member).default
    if (found.value !== undefined && !empty && !isDefault) value[name] = found.value
  }
  return { value, errors }
}

function collectList(schema: Schema, draft: Draft, texts: Texts, path: string, required: boolean): Collected {
  const rows = Array.isArray(draft) ? draft : []
  const value: unknown[] = []
  const errors: Record<string, string> = {}
  rows.forEach((row, at) => {
    const found = collect(schema.items ?? {}, row, texts, `${path}.${at}`)
    Object.assign(errors, found.errors)
    if (found.value !== undefined) value.push(found.value)
  })
  if (value.length === 0 && !required) return { value: undefined, errors }
  if (value.length < (schema.minItems ?? 0)) errors[path] = texts.required
  return { value, errors }
}
