import { useComputed, useSignal } from '@preact/signals'
import { catalogueOf, reloadCatalogue, stopCatalogue, type Catalogue } from '../../api/schema'
import { Banner, ProblemBanner } from '../../parts/banner'
import { Button, IconButton } from '../../parts/button'
import { CodeText } from '../../parts/code-text'
import { Dialog } from '../../parts/dialog'
import { Empty } from '../../parts/facts'
import { Loading } from '../../parts/loading'
import { Splitter } from '../../parts/splitter'
import { database, go, place } from '../../shell/router'
import { currentDatabase } from '../../shell/session'
import { schema as texts } from '../../text/schema'
import { useTableCommands } from './commands'
import { grantsFor } from './grants'
import { graphOf } from './graph'
import { allTables, type Named } from './ranking'
import { Relations } from './relations'
import { TablePage } from './table-page'
import { TableTree } from './table-tree'

/** Shows the tables of a database, and how they refer to each other. */
export default function Schema() {
  useTableCommands()
  const { catalogue, problem, loading } = catalogueOf(database.value).value
  return (
    <div class="screen schema">
      <h1 class="spoken">{texts.title}</h1>
      {problem !== null && (
        <div class="schema-problem">
          <ProblemBanner problem={problem} onRetry={() => void reloadCatalogue(database.peek(), false)} />
        </div>
      )}
      {!catalogue && loading && <Loading lines={10} onStop={() => stopCatalogue(database.peek())} />}
      {catalogue &&
        (allTables(catalogue).length > 0 ? (
          <Tables catalogue={catalogue} loading={loading} />
        ) : (
          <NoTables catalogue={catalogue} />
        ))}
    </div>
  )
}

/** Names the statement that lets the role of the server read tables. */
function NoTables({ catalogue }: { readonly catalogue: Catalogue }) {
  const role = currentDatabase()?.user ?? 'PUBLIC'
  const schemas = catalogue.denied.length > 0 ? catalogue.denied : ['public']
  return (
    <div class="schema-empty">
      <Empty icon="schema" title={texts.emptyTitle}>
        <p>{texts.emptyText(role)}</p>
        <CodeText text={grantsFor(role, schemas)} />
        <Refresh loading={false} />
      </Empty>
    </div>
  )
}

function Refresh({ loading }: { readonly loading: boolean }) {
  return (
    <Button
      kind="quiet"
      icon="reload"
      disabled={loading}
      onClick={() => void reloadCatalogue(database.peek(), true)}
    >
      {texts.refresh}
    </Button>
  )
}

interface ListProps {
  readonly catalogue: Catalogue
  readonly loading: boolean
  readonly current: Named | null
  readonly onOpen: () => void
}

/** The tree of tables, and when they were read. */
function List({ catalogue, loading, current, onOpen }: ListProps) {
  return (
    <div class="schema-list">
      <TableTree
        catalogue={catalogue}
        current={current}
        onOpen={({ schema, table }) => {
          onOpen()
          go({ query: { schema, table: table.name } })
        }}
      />
      <p class="schema-loaded muted">
        {texts.loadedAt(catalogue.loaded_at)}
        <IconButton
          icon="reload"
          name={texts.refresh}
          tip="above"
          disabled={loading}
          onClick={() => void reloadCatalogue(database.peek(), true)}
        />
      </p>
    </div>
  )
}

function Tables({ catalogue, loading }: { readonly catalogue: Catalogue; readonly loading: boolean }) {
  const listOpen = useSignal(false)
  const graph = useComputed(() => graphOf(catalogueOf(database.value).value.catalogue ?? catalogue))
  const { query } = place.value
  const [schema, table] = [query.get('schema'), query.get('table')]
  const named = allTables(catalogue)
  const found = named.find((candidate) => candidate.schema === schema && candidate.table.name === table)
  const tree = (
    <List
      catalogue={catalogue}
      loading={loading}
      current={found ?? null}
      onOpen={() => (listOpen.value = false)}
    />
  )
  return (
    <div class="schema-panes">
      <div class="schema-side" data-region>
        {tree}
      </div>
      <Splitter name="schema-side" label={texts.listWidth} initial={280} smallest={180} largest={560} />
      <section class="schema-main" data-region aria-label={found?.table.name ?? texts.views.relations}>
        {catalogue.cut && <Banner kind="warn">{texts.cut}</Banner>}
        <Button class="schema-list-button" icon="table" onClick={() => (listOpen.value = true)}>
          {texts.tree}
        </Button>
        {found && <TablePage key={`${found.schema}.${found.table.name}`} found={found} graph={graph.value} />}
        {!found && table !== null && (
          <Empty icon="table" title={texts.gone}>
            {texts.goneText(`${schema ?? ''}.${table}`)}
          </Empty>
        )}
        {!found && table === null && (
          <div class="schema-overview">
            <p>
              {texts.overview(named.length, catalogue.schemas.length)}.{' '}
              <span class="muted">{texts.chooseTable}</span>
            </p>
            <Relations graph={graph.value} current={null} schema={schema} />
          </div>
        )}
      </section>
      {listOpen.value && (
        <Dialog title={texts.tree} side="start" onClose={() => (listOpen.value = false)}>
          {tree}
        </Dialog>
      )}
    </div>
  )
}
