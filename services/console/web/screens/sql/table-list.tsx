import { useSignal } from '@preact/signals'
import { catalogueOf, reloadCatalogue, stopCatalogue, type Catalogue, type SchemaTable } from '../../api/schema'
import { ProblemBanner } from '../../parts/banner'
import { identifier, tableName } from '../../parts/editor/identifier'
import { Empty } from '../../parts/facts'
import { TextField } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { Icon, type IconName } from '../../parts/icon'
import { Loading } from '../../parts/loading'
import { isOpenAtFirst, schemaLine } from '../../parts/tree/schema-line'
import { Tree, type TreeLine } from '../../parts/tree/tree'
import { database } from '../../shell/router'
import { editor as editorTexts } from '../../text/editor'
import { sql as texts } from '../../text/sql'

interface Props {
  readonly onText: (text: string) => void
  readonly onInsert: (name: string) => void
}

/** The tables of the database with their columns. A column is put into the text; a table can be queried. */
export function TableList({ onText, onInsert }: Props) {
  const words = useSignal('')
  const opened = useSignal<ReadonlyMap<string, boolean>>(new Map())
  const { catalogue, problem, loading } = catalogueOf(database.value).value
  if (!catalogue)
    return problem ? (
      <ProblemBanner problem={problem} onRetry={() => void reloadCatalogue(database.peek(), false)} />
    ) : loading ? (
      <Loading lines={8} onStop={() => stopCatalogue(database.peek())} />
    ) : null
  if (catalogue.schemas.every(({ tables }) => tables.length === 0))
    return <Empty icon="table" title={texts.tablesEmpty} />
  const { lines, actions } = linesOf(catalogue, words.value.trim().toLowerCase(), opened.value)
  return (
    <div class="table-list">
      <TextField
        label={texts.tableFilter}
        quiet
        type="search"
        placeholder={texts.tableFilter}
        value={words.value}
        onText={(text) => (words.value = text)}
      />
      {lines.length === 0 ? (
        <p class="muted">{texts.tablesNone}</p>
      ) : (
        <div class="table-tree">
          <Tree
            label={texts.tables}
            lines={lines}
            selected={null}
            onToggle={(key, open) => (opened.value = new Map(opened.value).set(key, open))}
            onChoose={(key) => {
              const action = actions.get(key)
              if (action?.text !== undefined) onText(action.text)
              else if (action) onInsert(action.name)
            }}
          />
        </div>
      )}
      {catalogue.cut && <p class="muted">{texts.tablesCut}</p>}
    </div>
  )
}

/** Effect of choosing a line: a text is opened, or else a name is inserted. */
interface Action {
  readonly text?: string
  readonly name: string
}

function linesOf({ schemas }: Catalogue, words: string, opened: ReadonlyMap<string, boolean>) {
  const lines: TreeLine[] = []
  const actions = new Map<string, Action>()
  for (const { name: schema, tables } of schemas) {
    const found = tables.filter((table) => `${schema}.${table.name}`.toLowerCase().includes(words))
    if (found.length === 0) continue
    // With a filter everything that it finds is shown.
    const isOpen = words !== '' || (opened.get(schemaKey(schema)) ?? isOpenAtFirst(schema, schemas.length))
    lines.push(schemaLine(schemaKey(schema), schema, found.length, isOpen))
    for (const table of isOpen ? found : []) {
      const name = tableName(schema, table.name)
      const open = opened.get(name) ?? false
      lines.push(tableLine(table, name, open))
      if (!open) continue
      const query = `query ${name}`
      lines.push(line(query, 3, 'sql', texts.query, ''))
      actions.set(query, { name, text: `select *\nfrom ${name}` })
      for (const column of table.columns) {
        const key = `column ${name} ${column.name}`
        lines.push(line(key, 3, column.key === 'primary' ? 'key' : 'column', column.name, column.type))
        actions.set(key, { name: identifier(column.name) })
      }
    }
  }
  return { lines, actions }
}

const schemaKey = (schema: string): string => `schema ${schema}`

function tableLine(table: SchemaTable, key: string, open: boolean): TreeLine {
  const { name } = table
  const icon = table.kind.includes('view') ? 'view' : 'table'
  const content = (
    <>
      <Icon name={open ? 'down' : 'right'} size={14} />
      <Icon name={icon} size={16} />
      <Foreign text={name} />
    </>
  )
  return { key, level: 2, text: name, content, open, hint: editorTexts.table(table) }
}

function line(key: string, level: number, icon: IconName, text: string, note: string): TreeLine {
  return {
    key,
    level,
    text,
    content: (
      <>
        <Icon name={icon} size={16} />
        <Foreign text={text} />
        {note && <span class="tree-note mono">{note}</span>}
      </>
    ),
  }
}
