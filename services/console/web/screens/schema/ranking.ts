import type { Catalogue, SchemaTable } from '../../api/schema'

/** A table with its schema. */
export interface Named {
  readonly schema: string
  readonly table: SchemaTable
}

/** A table that a filter found, and what it was found by if that is not its name. */
export interface Found extends Named {
  readonly by: string | null
}

export function allTables({ schemas }: Catalogue): Named[] {
  return schemas.flatMap(({ name, tables }) => tables.map((table) => ({ schema: name, table })))
}

const NONE = 9

/** Finds tables by all words: by names first, then by columns, then by comments. */
export function ranked(all: readonly Named[], text: string): Found[] {
  const words = text
    .toLowerCase()
    .split(/[\s.]+/)
    .filter(Boolean)
  const found = all.flatMap((named) => {
    const ranks = words.map((word) => rankOf(named, word))
    const worst = ranks.reduce((left, right) => (right.rank > left.rank ? right : left), {
      rank: 0,
      by: null as string | null,
    })
    if (worst.rank >= NONE) return []
    const total = ranks.reduce((sum, { rank }) => sum + rank, 0)
    return [{ ...named, by: worst.by, total }]
  })
  return found
    .sort(
      (a, b) =>
        a.total - b.total || a.table.name.length - b.table.name.length || compare(a.table.name, b.table.name),
    )
    .map(({ schema, table, by }) => ({ schema, table, by }))
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function rankOf({ schema, table }: Named, word: string): { rank: number; by: string | null } {
  const name = table.name.toLowerCase()
  if (name === word) return { rank: 0, by: null }
  if (name.startsWith(word)) return { rank: 1, by: null }
  if (name.includes(`_${word}`)) return { rank: 2, by: null }
  if (name.includes(word) || schema.toLowerCase() === word) return { rank: 3, by: null }
  const column = table.columns.find((candidate) => candidate.name.toLowerCase().includes(word))
  if (column) return { rank: 5, by: column.name }
  if (table.comment?.toLowerCase().includes(word)) return { rank: 6, by: table.comment }
  const described = table.columns.find(({ comment }) => comment?.toLowerCase().includes(word))
  if (described) return { rank: 7, by: `${described.name}: ${described.comment ?? ''}` }
  return { rank: NONE, by: null }
}
