import { useEffect, useState } from 'preact/hooks'
import { type Configuration, configuration } from '../../api/admin'
import type { Session } from '../../api/session'
import { Badge, Facts } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { isIn, session } from '../../shell/session'
import { bytes, date, elapsed } from '../../text/format'
import { admin } from '../../text/admin'
import { useLoaded } from '../../parts/loaded'
import { Part } from './part'

const text = admin.server

/** The process that answers, and what is switched on in it. */
export function ServerPart() {
  const loaded = useLoaded(configuration)
  const caller = session.value
  return (
    <Part loaded={loaded}>
      {(value) => (
        <div class="server-facts">
          <section>
            <h2>{text.facts}</h2>
            <Process configuration={value} />
          </section>
          {isIn(caller) && (
            <>
              <section>
                <h2>{text.features}</h2>
                <Features features={caller.features} />
              </section>
              <section>
                <h2>{text.limits}</h2>
                <Limits limits={caller.limits} />
              </section>
            </>
          )}
        </div>
      )}
    </Part>
  )
}

const SECOND = 1000

function Process({ configuration: { server, path } }: { configuration: Configuration }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), SECOND)
    return () => clearInterval(timer)
  }, [])
  const { version, replica, started_at, memory_bytes } = server
  return (
    <Facts
      facts={[
        [text.version, version],
        [text.uptime, elapsed(Math.floor((now - new Date(started_at).getTime()) / SECOND) * SECOND)],
        [text.started, <time key="started" dateTime={started_at}>{date(started_at)}</time>],
        ...(memory_bytes === null ? [] : [[text.memory, bytes(memory_bytes)] as const]),
        [text.replica, <Foreign key="replica" text={replica} />],
        ...(path ? [[text.file, <Foreign key="file" text={path} />] as const] : []),
      ]}
    />
  )
}

function Features({ features }: { features: Session['features'] }) {
  const names = Object.entries(text.feature) as [keyof Session['features'], string][]
  return (
    <ul class="feature-list">
      {names.map(([name, label]) => (
        <li key={name}>
          {features[name] ? (
            <Badge kind="ok" icon="check">
              {text.on}
            </Badge>
          ) : (
            <Badge icon="minus">{text.off}</Badge>
          )}
          <span>{label}</span>
        </li>
      ))}
    </ul>
  )
}

const Limits = ({ limits: { row_limit, max_rows, max_export_rows } }: { limits: Session['limits'] }) => (
  <Facts
    facts={[
      [text.rowLimit, text.rows(row_limit)],
      [text.maxRows, text.rows(max_rows)],
      [text.maxExport, max_export_rows === 0 ? text.noExport : text.rows(max_export_rows)],
    ]}
  />
)
