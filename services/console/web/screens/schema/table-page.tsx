import { tableDetails } from '../../api/schema'
import { Button } from '../../parts/button'
import { CodeText } from '../../parts/code-text'
import { tableName } from '../../parts/editor/identifier'
import { Badge } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { useLoaded } from '../../parts/loaded'
import { Tabs } from '../../parts/tabs'
import { database, go, place, replace } from '../../shell/router'
import { isIn, session } from '../../shell/session'
import { schema as texts } from '../../text/schema'
import { definitionOf } from './definition'
import { keyOf, type Graph } from './graph'
import type { Named } from './ranking'
import { Relations } from './relations'
import { Sample } from './sample'
import { Rules } from './rules'
import { ColumnsTable, IndexesTable, KeysTable } from './table-parts'

const VIEWS = ['columns', 'keys', 'indexes', 'rules', 'sample', 'text', 'relations'] as const
type View = (typeof VIEWS)[number]

/** A table: its columns, constraints, indexes, policies and triggers, first rows, definition and diagram. */
export function TablePage({ found, graph }: { readonly found: Named; readonly graph: Graph }) {
  const { schema, table } = found
  const wanted = place.value.query.get('view')
  const view: View = VIEWS.find((name) => name === wanted) ?? 'columns'
  const key = keyOf(schema, table.name)
  const loaded = useLoaded((signal) => tableDetails(database.value, schema, table.name, signal), [database.value, schema, table.name])
  const details = loaded.value ?? {}
  return (
    <>
      <header class="table-head">
        <div>
          <h2>
            <Foreign text={`${schema}.${table.name}`} />
          </h2>
          <p class="muted">
            {texts.facts(table.kind, table.rows, table.bytes)} {details.notReadable && <Badge icon="lock">{texts.notReadable}</Badge>}
          </p>
        </div>
        <Actions found={found} />
      </header>
      {table.comment && (
        <p class="table-comment">
          <Foreign text={table.comment} />
        </p>
      )}
      <Tabs
        label={texts.viewsOf(table.name)}
        tabs={VIEWS.map((name) => ({ name, title: titleOf(name, found) }))}
        current={view}
        onChoose={(name) => replace({ query: { view: name } })}
      >
        <div class={`table-view ${view}`}>
          {view === 'columns' && <ColumnsTable table={table} details={details} />}
          {view === 'keys' && <KeysTable schema={schema} table={table} graph={graph} details={loaded} />}
          {view === 'indexes' && <IndexesTable table={table} />}
          {view === 'rules' && <Rules details={loaded} />}
          {view === 'sample' && <Sample schema={schema} table={table} />}
          {view === 'text' && (
            <>
              <p class="muted">{texts.textHint}</p>
              <CodeText text={definitionOf(schema, table, details.view)} label={texts.views.text} />
            </>
          )}
          {view === 'relations' && <Relations graph={graph} current={key} schema={schema} />}
        </div>
      </Tabs>
    </>
  )
}

function titleOf(view: View, { table }: Named): string {
  if (view === 'columns') return `${texts.views.columns} ${table.columns.length}`
  if (view === 'indexes' && table.indexes.length > 0) return `${texts.views.indexes} ${table.indexes.length}`
  return texts.views[view]
}

/** The ways from a table to the other screens. */
function Actions({ found: { schema, table } }: { readonly found: Named }) {
  const name = tableName(schema, table.name)
  const hasVectors = table.columns.some(({ dimensions }) => dimensions !== null)
  const caller = session.value
  return (
    <div class="button-row">
      <Button kind="main" icon="sql" onClick={() => go({ screen: 'sql', hash: `select *\nfrom ${name}` })}>
        {texts.query}
      </Button>
      {isIn(caller) && caller.features.llm && (
        <Button icon="ask" onClick={() => go({ screen: 'ask', hash: texts.question(name) })}>
          {texts.ask}
        </Button>
      )}
      {hasVectors && (
        <Button
          icon="search"
          onClick={() => go({ screen: 'search', query: { table: `${schema}.${table.name}` } })}
        >
          {texts.searchByMeaning}
        </Button>
      )}
    </div>
  )
}
