import { useState } from 'preact/hooks'
import { type AdminDatabase, adminDatabases, type DatabaseTest, testDatabase } from '../../api/admin'
import { Problem } from '../../api/problem'
import { Banner, ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { Badge, Empty, Facts } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { activity } from '../../text/activity'
import { number } from '../../text/format'
import { shell } from '../../text/shell'
import { admin } from '../../text/admin'
import { useLoaded } from '../../parts/loaded'
import { Moment } from './moment'
import { Part } from './part'
import { TestResult } from './test-result'

const text = admin.databases

/** Databases: what is known of each, and a way to look at it now. Nothing is edited here. */
export function DatabasesPart() {
  const loaded = useLoaded(adminDatabases)
  return (
    <Part loaded={loaded}>
      {({ databases }) =>
        databases.length === 0 ? (
          <Empty icon="database" title={text.none} />
        ) : (
          <>
            <ul class="database-list">
              {databases.map((database) => (
                <Database key={database.name} database={database} onTested={loaded.again} />
              ))}
            </ul>
            <p class="hint">{text.edited}</p>
          </>
        )
      }
    </Part>
  )
}

const STATUS = { ready: 'ok', unreachable: 'danger', unknown: 'plain' } as const

const SIGNS = { ready: 'check', unreachable: 'error', unknown: 'clock' } as const

function Database({ database, onTested }: { database: AdminDatabase; onTested: () => void }) {
  const { name, status, checked_at, allow_writes, allow_dangerous_functions } = database
  const [state, setState] = useState<DatabaseTest | { problem: unknown } | 'running' | null>(null)
  const test = async () => {
    if (state === 'running') return
    setState('running')
    try {
      setState(await testDatabase(name))
      onTested()
    } catch (problem) {
      setState({ problem })
    }
  }
  return (
    <li class="database-card" aria-label={name}>
      <div class="database-head">
        <h2>
          <Foreign text={name} />
        </h2>
        <Badge kind={STATUS[status] ?? 'plain'} icon={SIGNS[status] ?? 'info'}>
          {text.status[status] ?? status}
        </Badge>
        {allow_writes ? (
          <Badge kind="warn" icon="edit">
            {shell.mayWrite}
          </Badge>
        ) : (
          <Badge icon="lock">{shell.readOnly}</Badge>
        )}
        {allow_dangerous_functions && (
          <Badge kind="danger" icon="warning">
            {text.dangerous}
          </Badge>
        )}
        <Button icon="run" aria-label={text.testOf(name)} aria-disabled={state === 'running'} onClick={() => void test()}>
          {state === 'running' ? text.testing : text.test}
        </Button>
      </div>
      <Facts facts={factsOf(database)} />
      {checked_at && (
        <p class="muted database-checked">
          {text.checked} <Moment at={checked_at} />
        </p>
      )}
      <div aria-live="polite">{state !== null && state !== 'running' && ('problem' in state ? <Refused problem={state.problem} /> : <TestResult test={state} />)}</div>
    </li>
  )
}

function Refused({ problem }: { problem: unknown }) {
  if (problem instanceof Problem && problem.status === 429) return <Banner kind="warn">{text.again(problem.retryAfter ?? 1)}</Banner>
  return <ProblemBanner problem={problem} />
}

function factsOf({ host, port, database, user, sslmode, version, tables, connections, available_to_users, available_to_clients }: AdminDatabase) {
  const list = (names: readonly string[]) => (names.length ? <Foreign text={names.join(', ')} /> : text.all)
  return [
    [text.address, <Foreign key="address" text={`${host}:${port}/${database}`} />],
    [text.role, <Foreign key="role" text={user} />],
    [text.tls, <span key="tls" class="mono">{sslmode}</span>],
    [text.version, version === null ? text.unknown : `PostgreSQL ${version}`],
    [text.tables, tables === null ? text.unknown : number(tables)],
    [text.connections, activity.connectionsOf(connections)],
    [text.forUsers, list(available_to_users)],
    [text.forClients, list(available_to_clients)],
  ] as const
}
