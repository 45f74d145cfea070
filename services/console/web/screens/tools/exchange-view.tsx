import { Button } from '../../parts/button'
import { TOKEN } from '../../parts/clients'
import { CodeText } from '../../parts/code-text'
import { Select } from '../../parts/field'
import { Empty } from '../../parts/facts'
import { copy } from '../../parts/toast'
import { time } from '../../text/format'
import { shell } from '../../text/shell'
import { tools as text } from '../../text/tools'
import { type Exchange, exchanges, shownExchange } from './exchanges'

/** A request and its response as they went over the wire, and the way to earlier ones. */
export function ExchangeView() {
  const all = exchanges.value
  const current = all.find(({ id }) => id === shownExchange.value) ?? all[0]
  if (!current) {
    return (
      <Empty title={text.noExchange}>
        <p>{text.onlyHere}</p>
      </Empty>
    )
  }
  return (
    <div class="exchange">
      <Select
        label={text.exchanges}
        value={String(current.id)}
        choices={all.map((item) => ({ value: String(item.id), label: labelOf(item) }))}
        onChoose={(id) => (shownExchange.value = Number(id))}
      />
      <div>
        <h3>{text.request}</h3>
        <p class="mono exchange-line">POST {current.request.path}</p>
        <Headers headers={[...Object.entries(current.request.headers), ['Authorization', `Bearer ${TOKEN}`]]} />
        <CodeText text={JSON.stringify(current.request.body, null, 2)} language="json" label={text.request} />
      </div>
      <ResponseView exchange={current} />
      <Button icon="copy" onClick={() => copy(wholeOf(current))}>
        {shell.copy}
      </Button>
    </div>
  )
}

function ResponseView({ exchange: { response, failure } }: { exchange: Exchange }) {
  return (
    <div>
      <h3>{text.response}</h3>
      {response ? (
        <>
          <p class="mono exchange-line">{text.responseIn(statusOf(response), response.milliseconds)}</p>
          <Headers headers={response.headers} />
          <CodeText text={pretty(response.text)} language="json" label={text.response} />
        </>
      ) : (
        <p class="muted">{failure ?? text.noResponse}</p>
      )}
    </div>
  )
}

const Headers = ({ headers }: { headers: [string, string][] }) => (
  <details class="exchange-headers">
    <summary>
      {text.headers} <span class="muted">{headers.length}</span>
    </summary>
    <dl class="facts mono">
      {headers.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  </details>
)

const statusOf = ({ status, statusText }: { status: number; statusText: string }) => `${status} ${statusText}`.trim()

const labelOf = ({ title, revision, at, response }: Exchange) => `${time(at)} ${title} · ${revision} · ${response ? response.status : text.noResponse}`

/** Indents JSON; a text that is none, such as a stream of events, stays as it is. */
function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

function wholeOf({ request, response }: Exchange): string {
  const head = [...Object.entries(request.headers), ['Authorization', `Bearer ${TOKEN}`]].map(([name, value]) => `${name}: ${value}`)
  const sent = [`POST ${request.path}`, ...head, '', JSON.stringify(request.body, null, 2)]
  const got = response ? ['', statusOf(response), ...response.headers.map(([name, value]) => `${name}: ${value}`), '', pretty(response.text)] : []
  return [...sent, ...got].join('\n')
}
