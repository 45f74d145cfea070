import type { SchemaColumn, SchemaTable, TableDetails } from '../../api/schema'
import { Badge, Empty } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { quoted } from '../../parts/grid/copy'
import { schema as texts, relations } from '../../text/schema'
import type { Loaded } from '../../parts/loaded'
import { keyOf, type Graph, type Relation } from './graph'
import { Lines, WithDetails } from './rules'
import { TableLink } from './table-link'

/** Type, NULL, default, key and comment of each column. */
export function ColumnsTable({ table, details }: { readonly table: SchemaTable; readonly details: TableDetails }) {
  const labels = new Map(details.enums?.map((found) => [found.column, found.labels]))
  const hasComments = table.columns.some(({ comment }) => comment)
  return (
    <div class="facts-scroll" tabIndex={0} role="region" aria-label={texts.views.columns}>
      <table class="facts-table">
        <thead>
          <tr>
            <th scope="col">{texts.column}</th>
            <th scope="col">{texts.type}</th>
            <th scope="col">{texts.nullable}</th>
            <th scope="col">{texts.key}</th>
            <th scope="col">{texts.default}</th>
            {hasComments && <th scope="col">{texts.comment}</th>}
          </tr>
        </thead>
        <tbody>
          {table.columns.map((column) => (
            <tr key={column.name}>
              <th scope="row" class="mono">
                <Foreign text={column.name} />
              </th>
              <td class="mono">
                {column.type}
                {labels.has(column.name) && (
                  <div class="enum-labels muted">
                    <Foreign text={labels.get(column.name)?.map(quoted).join(', ') ?? ''} />
                  </div>
                )}
              </td>
              <td class="muted">{column.nullable ? texts.yes : texts.no}</td>
              <td>
                <ColumnKey column={column} isReadable={!details.unreadableColumns?.includes(column.name)} />
              </td>
              <td class="mono">
                {column.identity
                  ? texts.identity(column.identity)
                  : column.default && <Foreign text={column.default} />}
              </td>
              {hasComments && <td>{column.comment && <Foreign text={column.comment} />}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function ColumnKey({ column, isReadable }: { readonly column: SchemaColumn; readonly isReadable: boolean }) {
  const { key, references, indexed, dimensions } = column
  return (
    <span class="column-key">
      {key && (
        <Badge kind="clay" icon="key">
          {key === 'primary' ? texts.primary : texts.unique}
        </Badge>
      )}
      {references && (
        <span>
          → <TableLink schema={references.schema} table={references.table} column={references.column} />
        </span>
      )}
      {indexed && !key && <Badge>{texts.indexed}</Badge>}
      {dimensions !== null && <Badge>{texts.vector(dimensions)}</Badge>}
      {!isReadable && <Badge icon="lock">{texts.notReadable}</Badge>}
    </span>
  )
}

interface KeysProps {
  readonly schema: string
  readonly table: SchemaTable
  readonly graph: Graph
  readonly details: Loaded<TableDetails>
}

/** The constraints of a table, and the foreign keys that refer to it. */
export function KeysTable({ schema, table, graph, details }: KeysProps) {
  const own = keyOf(schema, table.name)
  const primary = table.columns.filter(({ key }) => key === 'primary')
  const unique = table.columns.filter(({ key }) => key === 'unique')
  const outward = graph.relations.filter(({ from }) => from === own)
  const inward = graph.relations.filter(({ to }) => to === own)
  return (
    <div class="keys-view">
      <section>
        <h3>{texts.primary}</h3>
        {primary.length > 0 ? (
          <p class="mono">{primary.map(({ name }) => name).join(', ')}</p>
        ) : (
          <p class="muted">{texts.noPrimary}</p>
        )}
        {unique.length > 0 && (
          <p>
            {texts.unique}: <span class="mono">{unique.map(({ name }) => name).join(', ')}</span>
          </p>
        )}
      </section>
      <section>
        <h3>{texts.refersTo}</h3>
        {outward.length === 0 && <p class="muted">{texts.noReferences}</p>}
        <RelationList relations={outward} graph={graph} />
      </section>
      <section>
        <h3>{texts.referredBy}</h3>
        {inward.length === 0 && <p class="muted">{texts.noReferrers}</p>}
        <RelationList relations={inward} graph={graph} />
      </section>
      <WithDetails details={details}>
        {({ checks = [] }) => <Lines title={texts.checks} none={texts.noChecks} lines={checks.map(({ name, definition }) => [name, definition])} />}
      </WithDetails>
    </div>
  )
}

/** References as lines of text with links to both tables. */
export function RelationList({
  relations: list,
  graph,
}: {
  readonly relations: readonly Relation[]
  readonly graph: Graph
}) {
  return (
    <ul class="relation-list" aria-label={relations.list}>
      {list.map(({ from, column, to, target }) => {
        const [source, referenced] = [graph.tables.get(from), graph.tables.get(to)]
        if (!source || !referenced) return null
        return (
          <li key={`${from}${column}${to}`}>
            <TableLink schema={source.schema} table={source.table.name} column={column} /> →{' '}
            <TableLink schema={referenced.schema} table={referenced.table.name} column={target} />
          </li>
        )
      })}
    </ul>
  )
}

/** The indexes with their definitions. */
export function IndexesTable({ table }: { readonly table: SchemaTable }) {
  if (table.indexes.length === 0) return <Empty icon="key" title={texts.noIndexes} />
  return (
    <div class="facts-scroll" tabIndex={0} role="region" aria-label={texts.views.indexes}>
      <table class="facts-table">
        <thead>
          <tr>
            <th scope="col">{texts.index}</th>
            <th scope="col">{texts.columns}</th>
            <th scope="col">{texts.method}</th>
            <th scope="col">{texts.definition}</th>
          </tr>
        </thead>
        <tbody>
          {table.indexes.map((index) => (
            <tr key={index.name}>
              <th scope="row" class="mono">
                <Foreign text={index.name} />
              </th>
              <td class="mono">
                <Foreign text={index.columns.join(', ')} />
              </td>
              <td>
                {index.method} {index.unique && <Badge kind="clay">{texts.unique}</Badge>}
              </td>
              <td class="mono index-definition">
                <Foreign text={index.definition} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
