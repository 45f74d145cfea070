// Writes the types of the servers' OpenAPI documents to node_modules/.types/, so that a renamed field
// fails the check of types.
import { mkdir, writeFile } from 'node:fs/promises'
import openapiTS, { astToString } from 'openapi-typescript'

const folder = new URL('node_modules/.types/', import.meta.url)
await mkdir(folder, { recursive: true })
for (const [server, name] of [
  ['tools', 'openapi'],
  ['rag', 'openapi-rag'],
]) {
  const types = await openapiTS(new URL(`../../../openapi/ziggurat-${server}.json`, import.meta.url))
  await writeFile(new URL(`${name}.d.ts`, folder), astToString(types))
}
