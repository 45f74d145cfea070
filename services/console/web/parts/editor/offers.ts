/** Decides what an editor offers at a position: names of the catalogue first, keywords last. */
import type { Catalogue, SchemaColumn, SchemaTable } from '../../api/schema'
import { identifier, tableName } from './identifier'
import { sources, withNames, type Source } from './scope'
import { statementAt } from './statements'
import { isName, nameOf, tokens, type Token } from './tokens'

export type OfferKind = 'schema' | 'table' | 'view' | 'alias' | 'column' | 'join' | 'keyword'

export interface Offer {
  readonly label: string
  readonly kind: OfferKind
  /** Beside the label: a type, or the kind and size of a table. */
  readonly detail?: string
  readonly comment?: string | null
  /** Higher comes first. */
  readonly rank: number
}

export interface Offers {
  /** Beginning of the text that an offer replaces. */
  readonly from: number
  readonly list: readonly Offer[]
}

const KEYWORDS = (
  'select from where group by order by having limit offset join left join right join full join cross join on using ' +
  'with as distinct case when then else end and or not in exists between like ilike is null is not null asc desc ' +
  'nulls last nulls first union all union except intersect values insert into update set delete from returning ' +
  'explain analyze count sum avg min max coalesce cast over partition by filter lateral interval true false'
)
  .replace(/\b(group|order|partition) by\b/g, '$1_by')
  .replace(/\b(left|right|full|cross) join\b/g, '$1_join')
  .replace(/\b(is not null|is null|nulls last|nulls first|union all|insert into|delete from)\b/g, (words) =>
    words.replaceAll(' ', '_'),
  )
  .split(' ')
  .map((word) => word.replaceAll('_', ' '))

const TABLES_FOLLOW = new Set(['from', 'join', 'into', 'update', 'table', 'truncate'])

type Describe = (table: SchemaTable) => string

/** Returns the offers at a position, or null where names make no sense: in texts and comments. */
export function offersAt(
  sql: string,
  position: number,
  catalogue: Catalogue | null,
  describe: Describe,
): Offers | null {
  const statement = statementAt(sql, position) ?? { from: position, to: position, text: '' }
  const end = Math.max(statement.to, position)
  const all = tokens(sql.slice(Math.min(statement.from, position), end)).map((token) => ({
    ...token,
    from: token.from + Math.min(statement.from, position),
    to: token.to + Math.min(statement.from, position),
  }))
  const inside = all.find(
    ({ from, to, kind }) => from < position && (position < to || (position === to && kind !== 'sign')),
  )
  if (inside && !isName(inside)) return null
  const before = all.filter(
    ({ to, kind, from }) => to <= position && from !== inside?.from && kind !== 'comment',
  )
  const from = inside?.from ?? position
  const prefix = dotted(before)
  const scope = new Scope(
    catalogue,
    sources(all.filter((token) => token.from !== inside?.from)),
    withNames(all),
    describe,
  )
  if (prefix) return { from, list: scope.membersOf(prefix) }
  const last = before.at(-1)?.text.toLowerCase() ?? ''
  if (TABLES_FOLLOW.has(last) || isListOfTables(before)) return { from, list: scope.tables() }
  const list = [...(last === 'on' ? scope.joins(from) : []), ...scope.columns(), ...scope.aliases()]
  return { from, list: [...list, ...scope.tables(-1), ...KEYWORDS.map(keyword)] }
}

/** The names before a dot at the end: `shop.` or `shop.orders.`. */
function dotted(before: readonly Token[]): string[] | null {
  if (before.at(-1)?.text !== '.') return null
  const names: string[] = []
  for (let at = before.length - 1; before[at]?.text === '.'; at -= 2) {
    const name = before[at - 1]
    if (!name || !isName(name)) break
    names.unshift(nameOf(name))
  }
  return names.length > 0 ? names : null
}

/** Reports a comma after tables: `from a, |`. */
function isListOfTables(before: readonly Token[]): boolean {
  if (before.at(-1)?.text !== ',') return false
  for (let at = before.length - 2; at >= 0; at -= 1) {
    const token = before[at] as Token
    if (token.text.toLowerCase() === 'from') return true
    if (token.text !== ',' && token.text !== '.' && !isName(token)) return false
    if (['select', 'on', 'by', 'set', 'where'].includes(token.text.toLowerCase())) return false
  }
  return false
}

function keyword(label: string): Offer {
  return { label, kind: 'keyword', rank: -20 }
}

/** The tables that a statement can reach. */
class Scope {
  constructor(
    private readonly catalogue: Catalogue | null,
    private readonly used: readonly Source[],
    private readonly queries: readonly string[],
    private readonly describe: Describe,
  ) {}

  /** Schemas and tables, those of `public` without their schema. */
  tables(change = 0): Offer[] {
    const schemas = this.catalogue?.schemas ?? []
    const named = schemas.map(
      ({ name }): Offer => ({ label: identifier(name), kind: 'schema', rank: change + 1 }),
    )
    const tables = schemas.flatMap(({ name, tables: list }) =>
      list.map((table) =>
        this.tableOffer(table, tableName(name, table.name), change + (name === 'public' ? 5 : 3)),
      ),
    )
    const queries = this.queries.map(
      (name): Offer => ({ label: identifier(name), kind: 'alias', detail: 'with', rank: 8 }),
    )
    return [...queries, ...tables, ...(schemas.length > 1 ? named : [])]
  }

  private tableOffer(table: SchemaTable, label: string, rank: number): Offer {
    const kind = table.kind.includes('view') ? 'view' : 'table'
    return { label, kind, detail: this.describe(table), comment: table.comment, rank }
  }

  aliases(): Offer[] {
    return this.used.map(({ alias, table }) => ({
      label: identifier(alias),
      kind: 'alias',
      detail: table,
      rank: 6,
    }))
  }

  /** Columns of the tables in use; a name that two of them have is written with its table. */
  columns(): Offer[] {
    const found = this.used.flatMap((source) => this.columnsOf(source).map((column) => ({ source, column })))
    const times = new Map<string, number>()
    for (const { column } of found) times.set(column.name, (times.get(column.name) ?? 0) + 1)
    return found.map(({ source, column }) => {
      const isUnique = times.get(column.name) === 1
      const label = isUnique
        ? identifier(column.name)
        : `${identifier(source.alias)}.${identifier(column.name)}`
      return columnOffer(column, label, `${column.type} · ${source.alias}`)
    })
  }

  membersOf(prefix: readonly string[]): Offer[] {
    const [first = '', second] = prefix
    if (second !== undefined) {
      return this.columnsOf({ alias: second, schema: first, table: second, from: 0 }).map((column) =>
        columnOffer(column),
      )
    }
    const source = this.used.find(({ alias }) => alias === first) ?? {
      alias: first,
      schema: null,
      table: first,
      from: 0,
    }
    const columns = this.columnsOf(source).map((column) => columnOffer(column))
    if (columns.length > 0) return columns
    const schema = this.catalogue?.schemas.find(({ name }) => name === first)
    return schema?.tables.map((table) => this.tableOffer(table, identifier(table.name), 5)) ?? []
  }

  /** Conditions from the foreign keys between the last table before a position and the others. */
  joins(position: number): Offer[] {
    const last = this.used.filter(({ from }) => from < position).at(-1)
    if (!last) return []
    const others = this.used.filter((source) => source !== last)
    return others.flatMap((other) => [...this.conditions(last, other), ...this.conditions(other, last)])
  }

  private conditions(from: Source, to: Source): Offer[] {
    const target = this.find(to)
    return this.columnsOf(from).flatMap((column) => {
      const { references } = column
      if (!references || !target) return []
      if (references.table !== target.table.name || references.schema !== target.schema) return []
      const left = `${identifier(from.alias)}.${identifier(column.name)}`
      const right = `${identifier(to.alias)}.${identifier(references.column)}`
      return [{ label: `${left} = ${right}`, kind: 'join', rank: 20 } satisfies Offer]
    })
  }

  private columnsOf(source: Source): readonly SchemaColumn[] {
    return this.find(source)?.table.columns ?? []
  }

  /** The table of a source; without a schema the one in `public`, else the first of that name. */
  private find({ schema, table }: Source): { schema: string; table: SchemaTable } | null {
    const all = this.catalogue?.schemas ?? []
    const wanted =
      schema === null
        ? [...all].sort((a, b) => Number(b.name === 'public') - Number(a.name === 'public'))
        : all
    for (const { name, tables } of wanted) {
      if (schema !== null && name !== schema) continue
      const found = tables.find((candidate) => candidate.name === table)
      if (found) return { schema: name, table: found }
    }
    return null
  }
}

function columnOffer(column: SchemaColumn, label = identifier(column.name), detail = column.type): Offer {
  return { label, kind: 'column', detail, comment: column.comment, rank: column.key === 'primary' ? 11 : 10 }
}
