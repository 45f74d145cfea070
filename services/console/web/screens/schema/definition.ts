import type { SchemaTable } from '../../api/schema'
import { identifier, tableName } from '../../parts/editor/identifier'
import { quoted } from '../../parts/grid/copy'

/** Writes a table, or a view with its query, as statements, from what is known of it. */
export function definitionOf(schema: string, table: SchemaTable, query?: string): string {
  const name = tableName(schema, table.name)
  const isTable = table.kind.includes('table')
  const lines = table.columns.map((column) => {
    const identity = column.identity ? ` GENERATED ${column.identity.toUpperCase()} AS IDENTITY` : ''
    const value = column.default && !column.identity ? ` DEFAULT ${column.default}` : ''
    return `  ${identifier(column.name)} ${column.type}${identity}${value}${column.nullable ? '' : ' NOT NULL'}`
  })
  if (isTable) {
    const primary = table.columns
      .filter(({ key }) => key === 'primary')
      .map((column) => identifier(column.name))
    if (primary.length > 0) lines.push(`  PRIMARY KEY (${primary.join(', ')})`)
    for (const { name: column, references } of table.columns) {
      if (!references) continue
      const target = `${tableName(references.schema, references.table)} (${identifier(references.column)})`
      lines.push(`  FOREIGN KEY (${identifier(column)}) REFERENCES ${target}`)
    }
  }
  const head = isTable
    ? `CREATE TABLE ${name} (\n${lines.join(',\n')}\n);`
    : query === undefined
      ? `-- ${table.kind} ${name}\n${lines.join('\n')}`
      : `CREATE ${table.kind.toUpperCase()} ${name} AS\n${query.trim()}`
  // The index of the primary key comes with the key.
  const indexes = table.indexes
    .filter((index) => !(index.unique && isPrimary(table, index.columns)))
    .map((index) => `${index.definition};`)
  const comments = [
    ...(table.comment ? [`COMMENT ON ${kindOf(table.kind)} ${name} IS ${quoted(table.comment)};`] : []),
    ...table.columns.flatMap((column) =>
      column.comment
        ? [`COMMENT ON COLUMN ${name}.${identifier(column.name)} IS ${quoted(column.comment)};`]
        : [],
    ),
  ]
  return [head, ...indexes, ...comments].join('\n\n')
}

function isPrimary(table: SchemaTable, columns: readonly string[]): boolean {
  const primary = table.columns.filter(({ key }) => key === 'primary').map(({ name }) => name)
  return primary.length > 0 && primary.join() === columns.join()
}

const kindOf = (kind: string): string => (kind === 'partitioned table' ? 'TABLE' : kind.toUpperCase())
