import type { Condition, PipelineOffer, RagQuestion } from '../api/rag'
import { pathOf } from '../api/rag'

/** Operators of a filter, as the server knows them. */
export const OPERATORS = ['=', '!=', '<', '>', '<=', '>=', 'LIKE', 'ILIKE', 'IN', 'NOT IN', 'IS NULL', 'IS NOT NULL'] as const

export type Operator = (typeof OPERATORS)[number]

/** A line of the filter as it is typed. */
export interface FilterLine {
  column: string
  operator: Operator
  value: string
}

/** Settings of the person for the next questions. */
export interface Settings {
  /** The number of passages as typed; empty for that of the pipeline. */
  results: string
  byWords: boolean
  citations: boolean
  followUp: boolean
  debug: boolean
  filter: readonly FilterLine[]
  logic: 'AND' | 'OR'
}

export const START: Settings = { results: '', byWords: true, citations: true, followUp: true, debug: false, filter: [], logic: 'AND' }

/** Tells if an operator compares with nothing. */
export const takesNoValue = (operator: Operator): boolean => operator.startsWith('IS ')

/** Tells if an operator compares with several values. */
export const takesList = (operator: Operator): boolean => operator === 'IN' || operator === 'NOT IN'

/** Messages before a question that are sent with it, at most. */
const MEMORY = 12

/** Makes the question that is sent. Members that say what the server does anyway are left out. */
export function questionOf(query: string, settings: Settings, pipeline: PipelineOffer, before: NonNullable<RagQuestion['messages']>): RagQuestion {
  const conditions = settings.filter.filter(({ column }) => column.trim() !== '').map(conditionOf)
  const results = Number(settings.results)
  return {
    query,
    stream: true,
    stream_sources: true,
    ...(settings.citations && pipeline.sources && { citations: true }),
    ...(settings.debug && { debug: true }),
    ...(Number.isInteger(results) && results > 0 && { top_n: results }),
    ...(pipeline.hybrid && !settings.byWords && { disable_hybrid: true }),
    ...(conditions.length && { filter: { conditions, logic: settings.logic } }),
    ...(settings.followUp && before.length && { messages: before.slice(-MEMORY) }),
  }
}

// The server reads values by the type of their column, so that they are sent as typed.
function conditionOf({ column, operator, value }: FilterLine): Condition {
  if (takesNoValue(operator)) return { column: column.trim(), operator }
  const list = value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
  return { column: column.trim(), operator, value: takesList(operator) ? list : value }
}

/** Writes the command that sends the same question. A token is only named. */
export function curlOf(origin: string, pipeline: string, question: RagQuestion, withToken: boolean): string {
  const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`
  return [
    `curl -N ${quoted(origin + pathOf(pipeline))}`,
    `-H 'Content-Type: application/json'`,
    ...(withToken ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    `-d ${quoted(JSON.stringify(question))}`,
  ].join(' \\\n  ')
}
