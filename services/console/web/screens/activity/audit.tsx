import { useEffect, useRef, useState } from 'preact/hooks'
import { allRecords, auditCsv, type AuditPage, auditRecords, type Chain } from '../../api/audit'
import { Problem, stopped, wasStopped } from '../../api/problem'
import { ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { CodeText } from '../../parts/code-text'
import { Badge, Empty } from '../../parts/facts'
import { Icon } from '../../parts/icon'
import { Loading } from '../../parts/loading'
import { Menu } from '../../parts/menu'
import { saveText } from '../../parts/save'
import { toast } from '../../parts/toast'
import { place, replace } from '../../shell/router'
import { audit as text } from '../../text/audit'
import { filterOf, NOTHING, queryOf, wantedIn } from './audit-filter'
import { AuditFilters } from './audit-filters'
import { RecordList } from './record-list'

/** Records that an export has at most. */
const MOST = 10_000

const CONFIGURATION = 'audit:\n  file: /var/lib/ziggurat/audit.jsonl\n  required: true'

/** Records of calls: filters, the newest records that fit, and the state of their chain. */
export function Audit() {
  const wanted = wantedIn(place.value.query)
  const [attempt, setAttempt] = useState(0)
  const { page, problem, isLoading, more, halt } = useRecords(JSON.stringify(wanted), attempt)
  if (problem instanceof Problem && problem.code === 'audit_off') return <Off />
  const unfiltered = JSON.stringify({ ...wanted, period: NOTHING.period, from: '', to: '' }) === JSON.stringify(NOTHING)
  return (
    <div class="audit">
      <AuditFilters
        wanted={wanted}
        onSearch={(next) => {
          replace({ query: queryOf(next) })
          setAttempt(attempt + 1)
        }}
      />
      {problem !== null && <ProblemBanner problem={problem} onRetry={() => setAttempt(attempt + 1)} />}
      {page && (
        <>
          <div class="audit-facts">
            <p role="status">{text.shown(page.records.length, page.next !== null)}</p>
            <ChainState chain={page.chain} />
            <Export wanted={JSON.stringify(wanted)} />
            <p class="hint">{text.chainHint[page.chain]}</p>
          </div>
          {page.records.length ? <RecordList records={page.records} /> : <Empty icon="document" title={unfiltered ? text.noneAtAll : text.none} />}
          {page.next !== null && (
            <Button class="activity-more" disabled={isLoading} onClick={more}>
              {text.more}
            </Button>
          )}
        </>
      )}
      {!page && problem === null && <Loading lines={8} onStop={halt} />}
    </div>
  )
}

const Off = () => (
  <Empty icon="document" title={text.offTitle}>
    <p>{text.offText}</p>
    <CodeText text={CONFIGURATION} />
    <p>{text.offRequired}</p>
  </Empty>
)

const SIGNS = { intact: { kind: 'ok', icon: 'check' }, broken: { kind: 'danger', icon: 'error' }, unchecked: { kind: 'plain', icon: 'info' } } as const

function ChainState({ chain }: { chain: Chain }) {
  const { kind, icon } = SIGNS[chain] ?? SIGNS.unchecked
  return (
    <Badge kind={kind} icon={icon}>
      {text.chain[chain] ?? chain}
    </Badge>
  )
}

/** Loads the first page for what is wanted, and further ones on demand. */
function useRecords(wanted: string, attempt: number) {
  const [page, setPage] = useState<AuditPage | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const [isLoading, setLoading] = useState(false)
  const stop = useRef<AbortController | null>(null)
  // One moment for all pages of a search, or records would stand on two of them.
  const filter = useRef(filterOf(JSON.parse(wanted), new Date()))
  const load = async (before: AuditPage | null) => {
    stop.current?.abort()
    const own = new AbortController()
    stop.current = own
    setLoading(true)
    setProblem(null)
    try {
      const next = await auditRecords(filter.current, before?.next ?? null, own.signal)
      setPage(before ? { ...next, records: [...before.records, ...next.records], chain: worse(before.chain, next.chain) } : next)
    } catch (failure) {
      if (wasStopped(failure)) return
      if (!before) setPage(null)
      setProblem(failure)
    }
    setLoading(false)
  }
  useEffect(() => {
    filter.current = filterOf(JSON.parse(wanted), new Date())
    void load(null)
    return () => stop.current?.abort()
  }, [wanted, attempt])
  const halt = () => {
    stop.current?.abort()
    setProblem(stopped())
  }
  return { page, problem, isLoading, more: () => void load(page), halt }
}

const RANKS: readonly Chain[] = ['intact', 'unchecked', 'broken']

/** The state of two pages together. */
const worse = (one: Chain, other: Chain): Chain => (RANKS.indexOf(one) > RANKS.indexOf(other) ? one : other)

function Export({ wanted }: { wanted: string }) {
  const [busy, setBusy] = useState(false)
  const save = async (format: 'csv' | 'json') => {
    if (busy) return
    setBusy(true)
    const { signal } = new AbortController()
    const filter = filterOf(JSON.parse(wanted), new Date())
    try {
      if (format === 'csv') saveText(await auditCsv(filter, MOST, signal), 'audit.csv', 'text/csv;charset=utf-8')
      else saveText(JSON.stringify(await allRecords(filter, MOST, signal), null, 2), 'audit.json', 'application/json')
      toast(text.exported(MOST))
    } catch (problem) {
      toast(problem instanceof Error ? problem.message : String(problem), 'danger')
    }
    setBusy(false)
  }
  return (
    <Menu
      label={text.export}
      align="end"
      class="outlined"
      trigger={
        <>
          <Icon name="download" size={16} />
          {text.export}
          <Icon name="down" size={16} />
        </>
      }
      items={[
        { label: text.exportCsv, onChoose: () => void save('csv') },
        { label: text.exportJson, onChoose: () => void save('json') },
      ]}
    />
  )
}
