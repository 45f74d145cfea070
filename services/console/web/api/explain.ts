import { inDatabase, result } from './mcp'

/** A step of a plan. Its parent is the step that takes its rows. */
export interface PlanNode {
  /** Index of the parent; null for the first step. */
  parent: number | null
  label: string
  rows_planned: number | null
  /** Rows of one loop, on average; null if the statement was not run. */
  rows: number | null
  loops: number | null
  /** Time with the steps below, and without. */
  ms: number | null
  own_ms: number | null
  /** Blocks found in the cache, and read. */
  hit: number | null
  read: number | null
  batches: number | null
  sorted_on_disk: boolean
  /** Places in `issues`. */
  findings: readonly number[]
}

/** A plan with what was found in it. */
export interface Explained {
  database: string
  plan: string
  issues: readonly string[]
  recommendations: readonly string[]
  nodes: readonly PlanNode[]
}

interface Answer {
  isError?: boolean
  content?: readonly { text?: string }[]
  structuredContent?: Partial<Explained>
}

/** Asks for the plan of a query; `analyze` runs it and measures the steps. */
export async function explain(
  database: string,
  query: string,
  analyze: boolean,
  signal: AbortSignal,
): Promise<Explained> {
  const values = await inDatabase('execute_explain', { query, analyze }, database, signal)
  const params = { name: 'execute_explain', arguments: values }
  const answer = await result<Answer>('tools/call', params, { signal, meta: { 'ziggurat/structured': true } })
  const text = answer.content?.map((part) => part.text ?? '').join('\n') ?? ''
  if (answer.isError) throw new Error(text)
  const found = answer.structuredContent
  return {
    database: found?.database ?? database,
    plan: found?.plan ?? text,
    issues: found?.issues ?? [],
    recommendations: found?.recommendations ?? [],
    nodes: found?.nodes ?? [],
  }
}
