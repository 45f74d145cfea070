import { Foreign } from '../../parts/foreign'
import { addressOf, place } from '../../shell/router'

interface Props {
  readonly schema: string
  readonly table: string
  readonly column?: string
}

/** A link to a table, named by one of its columns or by itself. */
export function TableLink({ schema, table, column }: Props) {
  const name = schema === 'public' ? table : `${schema}.${table}`
  return (
    <a class="mono" href={addressOf(place.value, { query: { schema, table } })}>
      <Foreign text={column === undefined ? name : `${name}.${column}`} />
    </a>
  )
}
