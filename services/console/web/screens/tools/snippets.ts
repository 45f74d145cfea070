import { MODERN, requestFor } from '../../api/mcp'
import { CLIENTS, clientConfiguration, quoted, TOKEN } from '../../parts/clients'
import { callOf, type Item } from './catalogue'

/** Ways to use this server from elsewhere. */
export const SNIPPETS = ['curl', 'Python', 'TypeScript', ...CLIENTS] as const

export type Snippet = (typeof SNIPPETS)[number]

/** Writes a snippet. Programs make the call with these arguments; configurations make the server known to a client. */
export function snippet(kind: Snippet, origin: string, item: Item, values: Record<string, unknown>, token = TOKEN): string {
  const call: Call = { origin, token, item, values }
  switch (kind) {
    case 'curl':
      return curl(call)
    case 'Python':
      return python(call)
    case 'TypeScript':
      return typescript(call)
    default:
      return clientConfiguration(kind, origin, token)
  }
}

interface Call {
  origin: string
  token: string
  item: Item
  values: Record<string, unknown>
}

function curl({ origin, token, item, values }: Call): string {
  const { method, params } = callOf(item, values)
  const { path, headers, body } = requestFor(MODERN, method, params)
  const sent = { ...headers, Authorization: `Bearer ${token}` }
  return [
    `curl ${quoted(origin + path)}`,
    ...Object.entries(sent).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`),
    `  -d ${quoted(JSON.stringify({ ...body, id: 1 }))}`,
  ].join(' \\\n')
}

const PYTHON_CALL = { 'tools/call': 'call_tool', 'prompts/get': 'get_prompt', 'resources/read': 'read_resource' } as Record<string, string>
const TYPESCRIPT_CALL = { 'tools/call': 'callTool', 'prompts/get': 'getPrompt', 'resources/read': 'readResource' } as Record<string, string>

function python({ origin, token, item, values }: Call): string {
  const { method, params } = callOf(item, values)
  const given = method === 'resources/read' ? pythonValue(params.uri) : `${pythonValue(params.name)}, ${pythonValue(params.arguments)}`
  return `# pip install mcp
import asyncio

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

HEADERS = {"Authorization": "Bearer ${token}"}


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

function typescript({ origin, token, item, values }: Call): string {
  const { method, params } = callOf(item, values)
  return `// npm install @modelcontextprotocol/sdk
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const transport = new StreamableHTTPClientTransport(new URL(${JSON.stringify(`${origin}/mcp`)}), {
  requestInit: { headers: { Authorization: 'Bearer ${token}' } },
})
const client = new Client({ name: 'example', version: '1.0.0' })
await client.connect(transport)
console.log(await client.${TYPESCRIPT_CALL[method]}(${JSON.stringify(params, null, 2)}))
await client.close()
`
}
