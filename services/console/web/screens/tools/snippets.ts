import { MODERN, requestFor } from '../../api/mcp'
import { callOf, type Item } from './catalogue'

/** Stands where an API token belongs. */
export const TOKEN = '<the token>'

const NAME = 'ziggurat'

/** Ways to use this server from elsewhere. */
export const SNIPPETS = ['curl', 'Python', 'TypeScript', 'Claude Code', 'Cursor', 'VS Code'] as const

export type Snippet = (typeof SNIPPETS)[number]

/** Writes a snippet. Programs make the call with these arguments; configurations make the server known to a client. */
export function snippet(kind: Snippet, origin: string, item: Item, values: Record<string, unknown>): string {
  switch (kind) {
    case 'curl':
      return curl(origin, item, values)
    case 'Python':
      return python(origin, item, values)
    case 'TypeScript':
      return typescript(origin, item, values)
    case 'Claude Code':
      return `claude mcp add --transport http ${NAME} ${quoted(`${origin}/mcp`)} --header ${quoted(`Authorization: Bearer ${TOKEN}`)}`
    case 'Cursor':
      return JSON.stringify({ mcpServers: { [NAME]: server(origin) } }, null, 2)
    case 'VS Code':
      return JSON.stringify({ servers: { [NAME]: { type: 'http', ...server(origin) } } }, null, 2)
  }
}

const server = (origin: string) => ({ url: `${origin}/mcp`, headers: { Authorization: `Bearer ${TOKEN}` } })

/** Quotes a word for a POSIX shell. */
export const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

function curl(origin: string, item: Item, values: Record<string, unknown>): string {
  const { method, params } = callOf(item, values)
  const { path, headers, body } = requestFor(MODERN, method, params)
  const sent = { ...headers, Authorization: `Bearer ${TOKEN}` }
  return [
    `curl ${quoted(origin + path)}`,
    ...Object.entries(sent).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`),
    `  -d ${quoted(JSON.stringify({ ...body, id: 1 }))}`,
  ].join(' \\\n')
}

const PYTHON_CALL = { 'tools/call': 'call_tool', 'prompts/get': 'get_prompt', 'resources/read': 'read_resource' } as Record<string, string>
const TYPESCRIPT_CALL = { 'tools/call': 'callTool', 'prompts/get': 'getPrompt', 'resources/read': 'readResource' } as Record<string, string>

function python(origin: string, item: Item, values: Record<string, unknown>): string {
  const { method, params } = callOf(item, values)
  const given = method === 'resources/read' ? pythonValue(params.uri) : `${pythonValue(params.name)}, ${pythonValue(params.arguments)}`
  return `# pip install mcp
import asyncio

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

HEADERS = {"Authorization": "Bearer ${TOKEN}"}


async def main():
    async with streamablehttp_client(${pythonValue(`${origin}/mcp`)}, headers=HEADERS) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            print(await session.${PYTHON_CALL[method]}(${given}))


asyncio.run(main())
`
}

/** Writes a JSON value as Python. */
export function pythonValue(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([name, member]) => `${JSON.stringify(name)}: ${pythonValue(member)}`)
      .join(', ')}}`
  }
  return JSON.stringify(value)
}

function typescript(origin: string, item: Item, values: Record<string, unknown>): string {
  const { method, params } = callOf(item, values)
  return `// npm install @modelcontextprotocol/sdk
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const transport = new StreamableHTTPClientTransport(new URL(${JSON.stringify(`${origin}/mcp`)}), {
  requestInit: { headers: { Authorization: 'Bearer ${TOKEN}' } },
})
const client = new Client({ name: 'example', version: '1.0.0' })
await client.connect(transport)
console.log(await client.${TYPESCRIPT_CALL[method]}(${JSON.stringify(params, null, 2)}))
await client.close()
`
}
