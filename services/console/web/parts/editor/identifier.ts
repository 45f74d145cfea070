/** Names as they have to be written in SQL. */

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
