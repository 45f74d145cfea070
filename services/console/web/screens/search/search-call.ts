import { inDatabase, result } from '../../api/mcp'

/** A passage that was found, of a row of a table or of a document. */
export interface Passage {
  text: string
  /** Relevance from 0 to 1. */
  score: number
  /** Its place: table and column, or product, title and section. */
  path: string[]
  /** Id of the row, if it has one. */
  id: string | null
  /** Rank of its row by vector alone. */
  rank: number | null
}

/** An answer: passages, and the text that models get. */
export interface Found {
  passages: Passage[]
  /** Number of different rows; null for documents. */
  rows: number | null
  text: string
  milliseconds: number
}

interface ToolResult {
  content?: { text?: string }[]
  structuredContent?: { table?: string; passages?: Listed[]; products?: Product[] }
  isError?: boolean
}

interface Listed {
  id?: string
  column?: string
  rank?: number
  score?: number
  text: string
  project?: string
  version?: string
  title?: string
  section?: string
  similarity?: number
}

/** A product that documentation is about. */
export interface Product {
  name: string
  version?: string
  chunks: number
}

const META = { 'ziggurat/structured': true }

async function ask(name: string, values: Record<string, unknown>, signal: AbortSignal): Promise<ToolResult & { milliseconds: number }> {
  const began = performance.now()
  const answer = await result<ToolResult>('tools/call', { name, arguments: values }, { signal, meta: META })
  if (answer.isError) throw new Error(textOf(answer) || name)
  return { ...answer, milliseconds: performance.now() - began }
}

const textOf = ({ content }: ToolResult): string => (content ?? []).map(({ text }) => text ?? '').join('\n\n')

/** Searches a table of the database that is named. */
export async function searchTable(values: Record<string, unknown>, database: string, signal: AbortSignal): Promise<Found> {
  const answer = await ask('similarity_search', await inDatabase('similarity_search', values, database, signal), signal)
  const { table = '', passages = [] } = answer.structuredContent ?? {}
  const found = passages.map(({ text, score = 0, id, column, rank }) => ({ text, score, id: id ?? null, rank: rank ?? null, path: [table, column ?? ''].filter(Boolean) }))
  return { passages: found, rows: new Set(found.map(({ rank }) => rank)).size, text: textOf(answer), milliseconds: answer.milliseconds }
}

/** Searches the documentation. */
export async function searchDocuments(values: Record<string, unknown>, signal: AbortSignal): Promise<Found> {
  const answer = await ask('search_knowledgebase', values, signal)
  const found = (answer.structuredContent?.passages ?? []).map(({ text, similarity = 0, project, version, title, section }) => ({
    text,
    score: similarity,
    id: null,
    rank: null,
    path: [[project, version].filter(Boolean).join(' '), title ?? '', section ?? ''].filter(Boolean),
  }))
  return { passages: found, rows: null, text: textOf(answer), milliseconds: answer.milliseconds }
}

/** Lists the products that documentation is there for. */
export async function products(signal: AbortSignal): Promise<Product[]> {
  const answer = await ask('search_knowledgebase', { query: '', list_products: true }, signal)
  return answer.structuredContent?.products ?? []
}
