import { useEffect, useRef, useState } from 'preact/hooks'
import { wasStopped } from '../../api/problem'
import { type Catalogue, catalogueOf } from '../../api/schema'
import { ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { CodeText } from '../../parts/code-text'
import { Empty } from '../../parts/facts'
import { Select, TextField } from '../../parts/field'
import { Loading } from '../../parts/loading'
import { Tabs } from '../../parts/tabs'
import { database, place, replace } from '../../shell/router'
import { isIn, session } from '../../shell/session'
import { search as text } from '../../text/search'
import { Passages } from './passages'
import { type Found, type Product, products, searchDocuments, searchTable } from './search-call'

type State = { found: Found; question: string } | { problem: unknown } | { running: AbortController } | null

/** The screen for finding passages by meaning and by words, in tables and in documents. */
export default function Search() {
  const caller = session.value
  const features = isIn(caller) ? caller.features : null
  const chosen = place.value.query.get('in') === 'documents' ? 'documents' : 'tables'
  return (
    <div class="screen search-screen">
      <h1>{text.title}</h1>
      <Tabs
        label={text.where}
        tabs={[
          { name: 'tables', title: text.tables },
          { name: 'documents', title: text.documents },
        ]}
        current={chosen}
        onChoose={(name) => replace({ query: { in: name === 'documents' ? name : null } })}
      >
        {chosen === 'tables' ? (
          features?.embedding ? (
            <Tables key={database.value} />
          ) : (
            <Off what={text.offTables} keys={'embedding:\n  enabled: true\n  provider: ollama'} />
          )
        ) : features?.knowledgebase ? (
          <Documents />
        ) : (
          <Off what={text.offDocuments} keys={'knowledgebase:\n  enabled: true\n  database_path: /var/lib/ziggurat/docs.db'} />
        )}
      </Tabs>
    </div>
  )
}

const Off = ({ what, keys }: { what: string; keys: string }) => (
  <Empty icon="search" title={text.offTitle}>
    <p>{what}</p>
    <CodeText text={keys} />
  </Empty>
)

/** Runs searches one at a time: another one stops the one before. */
function useSearch() {
  const [state, setState] = useState<State>(null)
  const last = useRef<AbortController | null>(null)
  useEffect(() => () => last.current?.abort(), [])
  const run = async (question: string, search: (signal: AbortSignal) => Promise<Found>) => {
    last.current?.abort()
    const running = new AbortController()
    last.current = running
    setState({ running })
    try {
      const found = await search(running.signal)
      if (last.current === running) setState({ found, question })
    } catch (problem) {
      if (last.current === running) setState(wasStopped(problem) ? null : { problem })
    }
  }
  return { state, run }
}

function Answer({ state, start }: { state: State; start: string }) {
  if (state === null) return <Empty icon="search" title={start} />
  if ('running' in state) return <Loading lines={6} onStop={() => state.running.abort()} />
  if ('problem' in state) return <ProblemBanner problem={state.problem} />
  return <Passages found={state.found} question={state.question} />
}

function Tables() {
  const { state, run } = useSearch()
  const [question, setQuestion] = useState('')
  const tables = withVectors(catalogueOf(database.value).value.catalogue)
  const [chosen, setTable] = useState(place.peek().query.get('table') ?? '')
  const table = chosen || (tables[0] ?? '')
  const [settings, setSettings] = useState({ top_n: '10', chunk_size_tokens: '100', lambda: '0.6', max_output_tokens: '1000', distance_metric: 'cosine' })
  const set = (name: keyof typeof settings) => (value: string) => setSettings({ ...settings, [name]: value })
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (!question.trim()) return
    const numbers = Object.fromEntries(Object.entries(settings).flatMap(([name, value]) => (name === 'distance_metric' || value.trim() === '' ? [] : [[name, Number(value)]])))
    const values = { query_text: question, distance_metric: settings.distance_metric, output_format: 'full', ...numbers, ...(table && { table_name: table }) }
    void run(question, (signal) => searchTable(values, database.peek(), signal))
  }
  return (
    <div class="search-work">
      <form class="search-form" onSubmit={submit}>
        <TextField label={text.question} type="search" value={question} onText={setQuestion} placeholder={text.questionHint} autocomplete="off" />
        {tables.length > 0 ? (
          <Select label={text.table} value={table} choices={tables.map((name) => ({ value: name, label: name }))} onChoose={setTable} />
        ) : (
          <TextField label={text.table} value={table} onText={setTable} placeholder={text.anyTable} class="mono" autocomplete="off" />
        )}
        <Button kind="main" icon="search" type="submit">
          {text.submit}
        </Button>
        <details class="search-settings">
          <summary>{text.more}</summary>
          <div>
            <TextField label={text.rows} type="number" value={settings.top_n} onText={set('top_n')} />
            <TextField label={text.chunk} type="number" value={settings.chunk_size_tokens} onText={set('chunk_size_tokens')} />
            <TextField label={text.output} type="number" value={settings.max_output_tokens} onText={set('max_output_tokens')} />
            <TextField label={text.lambda} hint={text.lambdaHint} value={settings.lambda} onText={set('lambda')} />
            <Select
              label={text.metric}
              value={settings.distance_metric}
              choices={Object.entries(text.metrics).map(([value, label]) => ({ value, label }))}
              onChoose={set('distance_metric')}
            />
          </div>
        </details>
      </form>
      <Answer state={state} start={text.start} />
    </div>
  )
}

/** Names the tables that have vectors, with their schema. */
const withVectors = (catalogue: Catalogue | null): string[] =>
  (catalogue?.schemas ?? []).flatMap(({ name, tables }) =>
    tables.filter(({ columns }) => columns.some(({ dimensions }) => dimensions !== null)).map((table) => `${name}.${table.name}`),
  )

function Documents() {
  const { state, run } = useSearch()
  const [question, setQuestion] = useState('')
  const [list, setList] = useState<Product[]>([])
  const [product, setProduct] = useState('')
  useEffect(() => {
    const stop = new AbortController()
    products(stop.signal).then(setList, () => {})
    return () => stop.abort()
  }, [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (!question.trim()) return
    const found = list.find((item) => idOf(item) === product)
    const values = { query: question, top_n: 10, ...(found && { project_names: [found.name], ...(found.version && { project_versions: [found.version] }) }) }
    void run(question, (signal) => searchDocuments(values, signal))
  }
  return (
    <div class="search-work">
      <form class="search-form" onSubmit={submit}>
        <TextField label={text.question} type="search" value={question} onText={setQuestion} placeholder={text.questionHint} autocomplete="off" />
        <Select label={text.product} value={product} choices={[{ value: '', label: text.allProducts }, ...list.map((item) => ({ value: idOf(item), label: idOf(item) }))]} onChoose={setProduct} />
        <Button kind="main" icon="search" type="submit">
          {text.submit}
        </Button>
      </form>
      <Answer state={state} start={text.startDocuments} />
    </div>
  )
}

const idOf = ({ name, version }: Product): string => [name, version].filter(Boolean).join(' ')
