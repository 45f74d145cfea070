import type { AuditRecord } from '../../api/audit'
import { CodeText } from '../../parts/code-text'
import { Foreign, hasHidden, pieces } from '../../parts/foreign'
import { date, exactTime } from '../../text/format'
import { audit as text } from '../../text/audit'
import { Caller } from './caller'
import { Outcome } from './outcome'

/** Records on one line each, which unfold to all that was recorded. */
export function RecordList({ records }: { records: readonly AuditRecord[] }) {
  return (
    <ul class="record-list" aria-label={text.records}>
      {records.map((record, at) => (
        <li key={`${record.at}-${record.seq ?? at}-${record.chain ?? ''}`}>
          <details>
            <summary>
              <Line record={record} />
            </summary>
            <Whole record={record} />
          </details>
        </li>
      ))}
    </ul>
  )
}

function Line({ record: { at, kind, caller, method, tool, database, verdict, code, rows, ms, statement } }: { record: AuditRecord }) {
  return (
    <>
      <span class="record-at">{at && <Time at={at} />}</span>
      <span class="record-caller">{caller && <Caller kind={caller.kind ?? ''} name={caller.name ?? null} />}</span>
      <span class="record-tool mono">
        <Foreign text={tool ?? method ?? kind ?? ''} />
      </span>
      <span class="record-database">{database && <Foreign text={database} />}</span>
      <span class="record-verdict">{verdict && <Outcome outcome={verdict} code={code ?? null} />}</span>
      <span class="record-rows muted">{rows !== undefined && text.rows(rows)}</span>
      <span class="record-time muted">{ms !== undefined && text.took(ms)}</span>
      <span class="record-statement mono muted">{statement?.text && <Foreign text={statement.text.slice(0, FOLDED)} />}</span>
    </>
  )
}

/** Length of a statement on the line of its record. */
const FOLDED = 200

const DAY = 86_400_000

function Time({ at }: { at: string }) {
  const isOld = Date.now() - new Date(at).getTime() > DAY
  return (
    <time dateTime={at} title={at}>
      {isOld ? date(at) : exactTime(at)}
    </time>
  )
}

function Whole({ record }: { record: AuditRecord }) {
  const { statement } = record
  return (
    <div class="record-whole">
      {statement?.text && (
        <pre tabIndex={0} role="region" aria-label={text.statement}>
          <Foreign text={statement.text} />
        </pre>
      )}
      <CodeText text={withoutHidden(JSON.stringify(record, null, 2))} language="json" label={text.whole} />
    </div>
  )
}

/** Writes hidden characters of a JSON text as its escapes, which mean the same. */
export function withoutHidden(json: string): string {
  if (!hasHidden(json)) return json
  return pieces(json)
    .map((piece) => ('text' in piece ? piece.text : escaped(Number.parseInt(piece.hidden.slice(2), 16))))
    .join('')
}

const escaped = (point: number): string =>
  [...Array(String.fromCodePoint(point).length).keys()]
    .map((at) => `\\u${String.fromCodePoint(point).charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('')
