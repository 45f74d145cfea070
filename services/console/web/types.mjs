// Writes the types of the server's OpenAPI document to node_modules/.types/openapi.d.ts, so that a
// renamed field fails the check of types.
import { mkdir, writeFile } from 'node:fs/promises'
import openapiTS, { astToString } from 'openapi-typescript'

const folder = new URL('node_modules/.types/', import.meta.url)
const types = await openapiTS(new URL('../../../openapi/ziggurat-tools.json', import.meta.url))
await mkdir(folder, { recursive: true })
await writeFile(new URL('openapi.d.ts', folder), astToString(types))
