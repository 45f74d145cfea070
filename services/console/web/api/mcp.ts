import { send } from './client'

/** Revisions of the Model Context Protocol that the server speaks, newest first. */
export const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

export type Revision = (typeof REVISIONS)[number]

/** The revision that has no session and no handshake. */
export const MODERN: Revision = '2026-07-28'

/** Version of this client, as it names itself. */
const CLIENT = { name: 'ziggurat-console', version: '0.1.0' }

const PREFIX = 'io.modelcontextprotocol/'

/** A request as it is sent, but for the credentials. */
export interface McpRequest {
  path: string
  headers: Record<string, string>
  body: JsonRpcRequest
}

export interface JsonRpcRequest {
  jsonrpc: '2.0'
  id: number
  method: string
  params: Record<string, unknown>
}

export interface JsonRpcError {
  code: number
  message: string
  data?: unknown
}

/** An answer as it arrived. `message` is null if it is no JSON-RPC. */
export interface McpResponse {
  status: number
  statusText: string
  headers: [string, string][]
  text: string
  message: { result?: Record<string, unknown>; error?: JsonRpcError } | null
  milliseconds: number
}

let nextId = 1

/** Makes the request of a revision: its path, the headers it needs, and its envelope. */
export function requestFor(revision: Revision, method: string, params: Record<string, unknown>, meta: Record<string, unknown> = {}): McpRequest {
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
  const body: JsonRpcRequest = { jsonrpc: '2.0', id: nextId++, method, params: { ...params } }
  if (revision === '2024-11-05') return { path: '/mcp/v1', headers, body }
  headers['MCP-Protocol-Version'] = revision
  if (revision === MODERN) {
    headers['Mcp-Method'] = method
    const name = method === 'resources/read' ? params.uri : params.name
    if (typeof name === 'string' && NAMED.includes(method)) headers['Mcp-Name'] = headerText(name)
    body.params._meta = {
      [`${PREFIX}protocolVersion`]: revision,
      [`${PREFIX}clientCapabilities`]: { elicitation: {} },
      [`${PREFIX}clientInfo`]: CLIENT,
      ...meta,
    }
  }
  return { path: '/mcp', headers, body }
}

const NAMED = ['tools/call', 'prompts/get', 'resources/read']

/** Writes a name as the value of a header: as it is, or encoded where headers cannot carry it. */
export function headerText(name: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(name) && !name.startsWith('=?')) return name
  const bytes = new TextEncoder().encode(name)
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}?=`
}

/** Sends a request and reads its answer, as JSON or as a stream of events that ends with it. */
export async function exchange(request: McpRequest, signal?: AbortSignal): Promise<McpResponse> {
  const began = performance.now()
  const response = await send(request.path, { body: request.body, headers: request.headers, signal: signal ?? null })
  const text = await response.text()
  const streamed = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  return {
    status: response.status,
    statusText: response.statusText,
    headers: [...response.headers].sort(([a], [b]) => (a < b ? -1 : 1)),
    text,
    message: messageOf(streamed ? answerIn(text, request.body.id) : text),
    milliseconds: performance.now() - began,
  }
}

/** Sends a request of the newest revision for its result. Errors of the protocol are thrown. */
export async function result<T>(method: string, params: Record<string, unknown> = {}, options: { signal?: AbortSignal; meta?: Record<string, unknown>; revision?: Revision } = {}): Promise<T> {
  const answer = await exchange(requestFor(options.revision ?? MODERN, method, params, options.meta), options.signal)
  if (answer.message?.result) return answer.message.result as T
  throw new Error(answer.message?.error?.message ?? sentenceIn(answer))
}

/** Returns the arguments of a tool with the database of the tab, if the tool takes one: where there is a single database it does not. */
export async function inDatabase(tool: string, values: Record<string, unknown>, database: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  let cursor: string | undefined
  do {
    const page: ToolPage = await result<ToolPage>('tools/list', cursor === undefined ? {} : { cursor }, { signal })
    const found = page.tools.find(({ name }) => name === tool)
    if (found) return found.inputSchema.properties?.database === undefined ? values : { ...values, database }
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return values
}

interface ToolPage {
  tools: { name: string; inputSchema: { properties?: Record<string, unknown> } }[]
  nextCursor?: string
}

function sentenceIn({ text, status, statusText }: McpResponse): string {
  try {
    const { error } = JSON.parse(text)
    if (typeof error === 'string') return error
  } catch {
    // Not JSON: the status says more.
  }
  return `${status} ${statusText}`.trim()
}

/** Finds the answer to a request in a stream of events. */
export function answerIn(stream: string, id: number): string {
  for (const event of stream.split(/\r?\n\r?\n/)) {
    const data = event
      .split(/\r?\n/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).replace(/^ /, ''))
      .join('\n')
    if (data && messageOf(data) && JSON.parse(data).id === id) return data
  }
  return ''
}

function messageOf(text: string): McpResponse['message'] {
  try {
    const message = JSON.parse(text)
    return message?.jsonrpc === '2.0' ? message : null
  } catch {
    return null
  }
}
