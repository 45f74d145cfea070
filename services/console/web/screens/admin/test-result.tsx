import type { DatabaseTest } from '../../api/admin'
import { Banner } from '../../parts/banner'
import { Badge, Facts } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { duration } from '../../text/format'
import { admin } from '../../text/admin'

const text = admin.databases

/** Findings of a connection that was made just now. */
export function TestResult({ test: { ok, ms, error, warnings, ...rest } }: { test: DatabaseTest }) {
  return (
    <div class="test-result">
      <Banner kind={ok ? 'ok' : 'danger'} title={ok ? text.answered(duration(ms)) : text.notAnswered}>
        {error && <Foreign text={error} />}
      </Banner>
      {rest.role?.superuser && <Banner kind="danger">{text.superuserText}</Banner>}
      {warnings.map((warning) => (
        <Banner key={warning} kind="warn">
          <Foreign text={warning} />
        </Banner>
      ))}
      {ok && <Facts facts={factsOf(rest)} />}
    </div>
  )
}

function factsOf({ version, tls, standby, role, extensions }: Omit<DatabaseTest, 'ok' | 'ms' | 'error' | 'warnings'>) {
  return [
    ...(version === null ? [] : [[text.version, `PostgreSQL ${version}`] as const]),
    ...(tls === null ? [] : [[text.tls, tls ? <Badge kind="ok" icon="lock">{text.encrypted}</Badge> : <Badge kind="warn">{text.notEncrypted}</Badge>] as const]),
    ...(standby === null ? [] : [[text.kind, standby ? text.standby : text.primary] as const]),
    ...(role === null ? [] : [[text.may, <Role key="role" {...role} />] as const]),
    ...(extensions === null
      ? []
      : [[text.extensions, extensions.length ? <Foreign key="extensions" text={extensions.map(({ name, version }) => `${name} ${version}`).join(', ')} /> : text.noExtensions] as const]),
  ]
}

const Role = ({ superuser, may_write, bypasses_row_security }: NonNullable<DatabaseTest['role']>) => (
  <span class="admin-badges">
    {superuser && (
      <Badge kind="danger" icon="warning">
        {text.superuser}
      </Badge>
    )}
    {may_write ? <Badge kind="warn">{text.mayWrite}</Badge> : <Badge kind="ok">{text.readsOnly}</Badge>}
    {bypasses_row_security && <Badge kind="warn">{text.bypasses}</Badge>}
  </span>
)
