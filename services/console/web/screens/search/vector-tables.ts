import { call } from '../../api/client'

interface Catalogue {
  schemas: { name: string; tables: { name: string; columns: { dimensions: number | null }[] }[] }[]
}

/** Tables of a database that have vectors, with their schema. */
export async function tablesWithVectors(database: string, signal: AbortSignal): Promise<string[]> {
  const { schemas } = await call<Catalogue>(`/api/schema?database=${encodeURIComponent(database)}`, { signal })
  return schemas.flatMap(({ name, tables }) =>
    tables.filter(({ columns }) => columns.some(({ dimensions }) => dimensions !== null)).map((table) => `${name}.${table.name}`),
  )
}
