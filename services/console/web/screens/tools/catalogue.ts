import { MODERN, result, type Revision } from '../../api/mcp'
import type { Schema } from './schema'

export type Kind = 'tool' | 'resource' | 'template' | 'prompt'

/** Something that a client of the protocol can ask for. */
export interface Item {
  kind: Kind
  /** Name, or address of a resource: what is sent. */
  name: string
  title: string
  description: string
  /** Form of the arguments. */
  schema: Schema
  /** Hints of a tool, such as `readOnlyHint`. */
  annotations: { readOnlyHint?: boolean; destructiveHint?: boolean; openWorldHint?: boolean }
}

interface Listed {
  name: string
  title?: string
  description?: string
  uri?: string
  uriTemplate?: string
  inputSchema?: Schema
  annotations?: Item['annotations']
  arguments?: { name: string; description?: string; required?: boolean }[]
}

const NO_ARGUMENTS: Schema = { type: 'object', properties: {} }

const PAGES = 50

/** Lists what the caller may use, in a revision of the protocol. */
export async function catalogue(revision: Revision, signal: AbortSignal): Promise<Item[]> {
  const [tools, resources, templates, prompts] = await Promise.all([
    all(revision, 'tools/list', 'tools', signal),
    all(revision, 'resources/list', 'resources', signal),
    all(revision, 'resources/templates/list', 'resourceTemplates', signal),
    all(revision, 'prompts/list', 'prompts', signal),
  ])
  return [
    ...tools.map((tool) => item('tool', tool, tool.name, tool.inputSchema ?? NO_ARGUMENTS)),
    ...resources.map((resource) => item('resource', resource, resource.uri ?? resource.name, NO_ARGUMENTS)),
    ...templates.map((template) => item('template', template, template.uriTemplate ?? template.name, variablesOf(template.uriTemplate ?? ''))),
    ...prompts.map((prompt) => item('prompt', prompt, prompt.name, argumentsOf(prompt))),
  ]
}

/** Lists the prompts of the server. */
export async function prompts(signal: AbortSignal): Promise<Item[]> {
  const found = await all(MODERN, 'prompts/list', 'prompts', signal)
  return found.map((prompt) => item('prompt', prompt, prompt.name, argumentsOf(prompt)))
}

async function all(revision: Revision, method: string, member: string, signal: AbortSignal): Promise<Listed[]> {
  const found: Listed[] = []
  let cursor: string | undefined
  for (let page = 0; page < PAGES; page += 1) {
    const answer = await result<Record<string, unknown>>(method, cursor ? { cursor } : {}, { signal, revision })
    found.push(...((answer[member] as Listed[] | undefined) ?? []))
    cursor = answer.nextCursor as string | undefined
    if (!cursor) break
  }
  return found
}

function item(kind: Kind, listed: Listed, name: string, schema: Schema): Item {
  return {
    kind,
    name,
    title: listed.title ?? listed.name,
    description: listed.description ?? '',
    schema,
    annotations: listed.annotations ?? {},
  }
}

function argumentsOf({ arguments: list = [] }: Listed): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(list.map(({ name, description }) => [name, { type: 'string', ...(description && { description }) }])),
    required: list.filter(({ required }) => required).map(({ name }) => name),
  }
}

/** Variables of an address such as `pg://{schema}/{table}`, all of them required. */
export function variablesOf(template: string): Schema {
  const names = [...template.matchAll(/\{[+#./;?&]?([\w,]+)\*?\}/g)].flatMap(([, list]) => list?.split(',') ?? [])
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])), required: names }
}

/** Puts values into the address of a template. */
export function expand(template: string, values: Record<string, unknown>): string {
  return template.replace(/\{[+#./;?&]?([\w,]+)\*?\}/g, (_, list: string) =>
    list
      .split(',')
      .map((name) => encodeURIComponent(String(values[name] ?? '')))
      .join(','),
  )
}

/** Method and parameters with which an item is asked for. */
export function callOf(item: Item, values: Record<string, unknown>): { method: string; params: Record<string, unknown> } {
  switch (item.kind) {
    case 'tool':
      return { method: 'tools/call', params: { name: item.name, arguments: values } }
    case 'prompt':
      return { method: 'prompts/get', params: { name: item.name, arguments: values } }
    case 'resource':
      return { method: 'resources/read', params: { uri: item.name } }
    case 'template':
      return { method: 'resources/read', params: { uri: expand(item.name, values) } }
  }
}

/** Asks the server for values of an argument of a prompt or a template. None on a failure: they only help. */
export async function completions(item: Item, argument: string, value: string, signal: AbortSignal): Promise<string[]> {
  if (item.kind !== 'prompt' && item.kind !== 'template') return []
  const ref = item.kind === 'prompt' ? { type: 'ref/prompt', name: item.name } : { type: 'ref/resource', uri: item.name }
  try {
    const answer = await result<{ completion?: { values?: string[] } }>('completion/complete', { ref, argument: { name: argument, value } }, { signal, revision: MODERN })
    return answer.completion?.values ?? []
  } catch {
    return []
  }
}
