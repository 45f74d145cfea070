import { useSignal } from '@preact/signals'
import { catalogueOf, type SchemaTable } from '../../api/schema'
import { ProblemBanner } from '../../parts/banner'
import { IconButton } from '../../parts/button'
import { identifier, tableName } from '../../parts/editor/identifier'
import { Empty } from '../../parts/facts'
import { TextField } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { Icon } from '../../parts/icon'
import { Loading } from '../../parts/loading'
import { database } from '../../shell/router'
import { editor as editorTexts } from '../../text/editor'
import { sql as texts } from '../../text/sql'

/** Tables in the document at a time; the filter finds the others. */
const SHOWN = 300

interface Props {
  readonly onText: (text: string) => void
  readonly onInsert: (name: string) => void
}

/** The tables of the database with their columns. A name is put into the text; the sign beside it makes a query. */
export function TableList({ onText, onInsert }: Props) {
  const words = useSignal('')
  const { catalogue, problem, loading } = catalogueOf(database.value).value
  if (!catalogue)
    return problem ? <ProblemBanner problem={problem} /> : loading ? <Loading lines={8} /> : null
  const wanted = words.value.trim().toLowerCase()
  const all = catalogue.schemas.flatMap((schema) =>
    schema.tables.map((table) => ({ schema: schema.name, table })),
  )
  if (all.length === 0) return <Empty icon="table" title={texts.tablesEmpty} />
  const found = all.filter(({ schema, table }) => `${schema}.${table.name}`.toLowerCase().includes(wanted))
  return (
    <div class="sql-list">
      <TextField
        label={texts.tableFilter}
        quiet
        type="search"
        placeholder={texts.tableFilter}
        value={words.value}
        onText={(text) => (words.value = text)}
      />
      {found.length === 0 && <p class="muted">{texts.tablesNone}</p>}
      <ul class="table-list">
        {found.slice(0, SHOWN).map(({ schema, table }) => (
          <TableEntry
            key={`${schema}.${table.name}`}
            schema={schema}
            table={table}
            onText={onText}
            onInsert={onInsert}
          />
        ))}
      </ul>
      {(catalogue.cut || found.length > SHOWN) && <p class="muted">{texts.tablesCut}</p>}
    </div>
  )
}

function TableEntry({
  schema,
  table,
  onText,
  onInsert,
}: Props & { readonly schema: string; readonly table: SchemaTable }) {
  const name = tableName(schema, table.name)
  return (
    <li>
      <details class="table-entry">
        <summary title={editorTexts.table(table)}>
          <Icon name={table.kind.includes('view') ? 'view' : 'table'} size={16} />
          <span class="table-name">
            <Foreign text={schema === 'public' ? table.name : `${schema}.${table.name}`} />
          </span>
        </summary>
        <ul>
          {table.columns.map((column) => (
            <li key={column.name}>
              <button
                type="button"
                class="column-entry"
                title={texts.insertName(column.name)}
                onClick={() => onInsert(identifier(column.name))}
              >
                <Foreign text={column.name} />
                <span class="muted mono">{column.type}</span>
              </button>
            </li>
          ))}
        </ul>
      </details>
      <IconButton
        icon="sql"
        name={texts.queryTable(name)}
        tip="end"
        onClick={() => onText(`select * from ${name}`)}
      />
    </li>
  )
}
