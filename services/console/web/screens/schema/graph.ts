import type { Catalogue } from '../../api/schema'
import { allTables, type Named } from './ranking'

/** A foreign key between two tables, by column. Keys of several columns are several references. */
export interface Relation {
  readonly from: string
  readonly column: string
  readonly to: string
  readonly target: string
}

export interface Graph {
  readonly tables: ReadonlyMap<string, Named>
  readonly relations: readonly Relation[]
}

/** Name of a table in a graph; schemas and tables may have dots in their names. */
export const keyOf = (schema: string, table: string): string => JSON.stringify([schema, table])

/** All tables of a catalogue with the foreign keys between them. */
export function graphOf(catalogue: Catalogue): Graph {
  const tables = new Map(allTables(catalogue).map((named) => [keyOf(named.schema, named.table.name), named]))
  const relations: Relation[] = []
  for (const [from, { table }] of tables) {
    for (const { name, references } of table.columns) {
      if (!references) continue
      const to = keyOf(references.schema, references.table)
      if (tables.has(to)) relations.push({ from, column: name, to, target: references.column })
    }
  }
  return { tables, relations }
}

/** Cuts a graph to some of its tables. */
function cutTo({ tables, relations }: Graph, kept: ReadonlySet<string>): Graph {
  return {
    tables: new Map([...tables].filter(([key]) => kept.has(key))),
    relations: relations.filter(({ from, to }) => kept.has(from) && kept.has(to)),
  }
}

/** The tables of a schema with those of other schemas that a foreign key connects to them; null for all schemas. */
export function ofSchema(graph: Graph, schema: string | null): Graph {
  if (schema === null) return graph
  const isOwn = (key: string): boolean => graph.tables.get(key)?.schema === schema
  const relations = graph.relations.filter(({ from, to }) => isOwn(from) || isOwn(to))
  const near = connected({ ...graph, relations })
  return { tables: new Map([...graph.tables].filter(([key]) => isOwn(key) || near.has(key))), relations }
}

/** The tables that a foreign key leads to or from. */
export const connected = ({ relations }: Graph): Set<string> => new Set(relations.flatMap(({ from, to }) => [from, to]))

/** A table and those that at most `depth` foreign keys lead to, nearest first, up to a limit. */
export function around(
  graph: Graph,
  start: string,
  depth: number,
  limit: number,
): { graph: Graph; cut: boolean } {
  const neighbours = new Map<string, string[]>()
  const connect = (from: string, to: string): void =>
    void neighbours.set(from, [...(neighbours.get(from) ?? []), to])
  for (const { from, to } of graph.relations) {
    connect(from, to)
    connect(to, from)
  }
  const kept = new Set([start])
  let edge = [start]
  let cut = false
  for (let step = 0; step < depth; step += 1) {
    const next: string[] = []
    for (const key of edge.flatMap((found) => neighbours.get(found) ?? [])) {
      if (kept.has(key)) continue
      if (kept.size >= limit) {
        cut = true
        break
      }
      kept.add(key)
      next.push(key)
    }
    edge = next
  }
  return { graph: cutTo(graph, kept), cut }
}
