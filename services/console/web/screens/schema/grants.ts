import { identifier } from '../../parts/editor/identifier'

/** Statements that let a role read the tables of schemas. */
export function grantsFor(role: string, schemas: readonly string[]): string {
  const to = role === 'PUBLIC' ? role : identifier(role)
  return schemas
    .map((schema) => {
      const name = identifier(schema)
      return `GRANT USAGE ON SCHEMA ${name} TO ${to};\nGRANT SELECT ON ALL TABLES IN SCHEMA ${name} TO ${to};`
    })
    .join('\n')
}
