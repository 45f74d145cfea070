/** The tables that an editor completes, as `/api/schema` lists them. */

export interface Reference {
  readonly schema: string
  readonly table: string
  readonly column: string
}

export interface SchemaColumn {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly default: string | null
  readonly comment: string | null
  readonly key: 'primary' | 'unique' | null
  readonly indexed: boolean
  readonly identity: boolean | string | null
  readonly dimensions: number | null
  readonly references: Reference | null
}

export interface SchemaIndex {
  readonly name: string
  readonly columns: readonly string[]
  readonly unique: boolean
  readonly method: string
  readonly definition: string
}

export interface SchemaTable {
  readonly name: string
  readonly kind: string
  readonly comment: string | null
  readonly rows: number | null
  readonly bytes: number | null
  readonly columns: readonly SchemaColumn[]
  readonly indexes: readonly SchemaIndex[]
}

export interface Catalogue {
  readonly database: string
  readonly loaded_at: string | null
  readonly cut: boolean | number | string | null
  readonly denied: readonly string[]
  readonly schemas: readonly { readonly name: string; readonly tables: readonly SchemaTable[] }[]
}

/** Reserved words that need quotes as names. */
const RESERVED = new Set(
  (
    'all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create ' +
    'current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc ' +
    'distinct do else end except false fetch for foreign from grant group having in initially intersect into lateral ' +
    'leading limit localtime localtimestamp not null offset on only or order placing primary references returning ' +
    'select session_user some symmetric system_user table then to trailing true union unique user using variadic ' +
    'when where window with authorization binary collation concurrently cross current_schema freeze full ilike inner ' +
    'is isnull join left like natural notnull outer overlaps right similar tablesample verbose'
  ).split(' '),
)

/** A name as it has to be written in SQL. */
export function identifier(name: string): string {
  if (/^[a-z_][a-z0-9_$]*$/.test(name) && !RESERVED.has(name)) return name
  return `"${name.replaceAll('"', '""')}"`
}

/** The name of a table, with its schema unless that is `public`. */
export function tableName(schema: string, table: string): string {
  return schema === 'public' ? identifier(table) : `${identifier(schema)}.${identifier(table)}`
}
