import { useRef, useState } from 'preact/hooks'
import { MODERN, type Revision } from '../../api/mcp'
import { Banner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { ChoiceButtons } from '../../parts/choice'
import { Badge } from '../../parts/facts'
import { TextArea } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { Loading } from '../../parts/loading'
import { database } from '../../shell/router'
import { tools as text } from '../../text/tools'
import { callOf, completions, type Item } from './catalogue'
import { Elicitation, type Reply } from './elicitation'
import { asksIn, type Exchange, record } from './exchanges'
import { Result } from './result'
import { collect, type Draft, draftOf } from './schema'
import { SchemaForm } from './schema-form'
import { UseElsewhere } from './use-elsewhere'

/** Drafts of this tab by item, so that looking at another tool loses nothing. */
const drafts = new Map<string, Draft>()

interface Step {
  exchange: Exchange
  /** The answer that the person gave before this step. */
  reply?: Reply['action']
}

/** One tool, resource or prompt: its form, its call and its answer. */
export function Call({ item, revision }: { item: Item; revision: Revision }) {
  const id = `${item.kind}/${item.name}`
  const [draft, setDraftState] = useState<Draft>(() => drafts.get(id) ?? startOf(item))
  const [asJson, setAsJson] = useState(false)
  const [json, setJson] = useState('')
  const [jsonError, setJsonError] = useState<string | null>(null)
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [steps, setSteps] = useState<Step[]>([])
  const [busy, setBusy] = useState(false)
  const running = useRef<AbortController | null>(null)
  const sent = useRef<Record<string, unknown>>({})
  const form = useRef<HTMLFormElement>(null)

  const setDraft = (value: Draft) => {
    drafts.set(id, value)
    setDraftState(value)
  }
  const collected = collect(item.schema, draft, text.wrong)
  const values = (collected.value ?? {}) as Record<string, unknown>
  const hasArguments = Object.keys(item.schema.properties ?? {}).length > 0

  const toggleJson = (on: boolean) => {
    if (on) setJson(JSON.stringify(values, null, 2))
    else if (read(json)) setDraft(draftOf(item.schema, read(json)))
    setJsonError(null)
    setAsJson(on)
  }
  const send = async (given: Record<string, unknown>, before: Step[], reply?: Reply['action'], extra: Record<string, unknown> = {}) => {
    const { method, params } = callOf(item, given)
    running.current = new AbortController()
    setBusy(true)
    try {
      const meta = item.kind === 'tool' && revision === MODERN ? { 'ziggurat/structured': true } : {}
      const exchange = await record(item.name, revision, method, { ...params, ...extra }, meta, running.current.signal)
      setSteps([...before, { exchange, ...(reply && { reply }) }])
    } finally {
      running.current = null
      setBusy(false)
    }
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (busy) return
    const given = asJson ? read(json) : values
    if (asJson && !given) return setJsonError(text.wrong.json)
    setJsonError(null)
    setErrors(asJson ? {} : collected.errors)
    if (!asJson && Object.keys(collected.errors).length) {
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
      return
    }
    sent.current = given ?? {}
    setSteps([])
    void send(sent.current, [])
  }
  const last = steps.at(-1)
  const asked = last ? asksIn(last.exchange.response) : null
  const answer = (replies: Record<string, Reply>) => {
    const action = Object.values(replies)[0]?.action
    void send(sent.current, steps, action, { inputResponses: replies, requestState: asked?.state })
  }
  const complete = item.kind === 'prompt' || item.kind === 'template' ? (name: string, value: string, signal: AbortSignal) => completions(item, name, value, signal) : undefined
  const verb = item.kind === 'tool' ? text.call : item.kind === 'prompt' ? text.get : text.read

  return (
    <div class="tool-call">
      <header class="tool-head">
        <h2>
          <Foreign text={item.name} />
        </h2>
        <Hints item={item} />
      </header>
      {item.description && <Description text={item.description} />}
      <form
        ref={form}
        class="tool-form"
        onSubmit={submit}
        noValidate
        onKeyDown={(event) => {
          if ((event.ctrlKey || event.metaKey) && event.key === 'Enter') {
            event.preventDefault()
            form.current?.requestSubmit()
          } else if (event.key === 'Escape' && running.current) running.current.abort()
        }}
      >
        {!hasArguments ? (
          <p class="muted whole">{text.noArguments}</p>
        ) : asJson ? (
          <TextArea label={text.argumentsJson} class="mono" rows={10} value={json} onText={setJson} error={jsonError} />
        ) : (
          <SchemaForm schema={item.schema} draft={draft} errors={errors} onChange={setDraft} complete={complete} />
        )}
        <div class="button-row">
          {busy ? (
            <Button kind="danger" icon="stop" onClick={() => running.current?.abort()}>
              {text.stop}
            </Button>
          ) : (
            <Button kind="main" icon="run" type="submit">
              {verb}
            </Button>
          )}
          {hasArguments && (
            <ChoiceButtons
              label={text.inputAs}
              choices={[
                { value: 'form', label: text.form },
                { value: 'json', label: text.json },
              ]}
              value={asJson ? 'json' : 'form'}
              onChoose={(form) => toggleJson(form === 'json')}
            />
          )}
        </div>
      </form>
      <div class="tool-answer" aria-live="polite">
        {steps.length > 1 && <Steps steps={steps} />}
        {busy && <Loading onStop={() => running.current?.abort()} />}
        {!busy && last && !asked && (last.exchange.response ? <Result key={last.exchange.id} response={last.exchange.response} /> : <Banner kind="warn">{last.exchange.failure}</Banner>)}
        {!busy && asked && <Elicitation key={last?.exchange.id} asks={asked.asks} onReply={answer} />}
      </div>
      <UseElsewhere item={item} values={(asJson ? read(json) : null) ?? values} />
    </div>
  )
}

// The tab's database is put into the form, where it can be seen, if the tool takes one.
function startOf(item: Item): Draft {
  const draft = draftOf(item.schema, undefined) as Record<string, Draft>
  const takesOne = item.kind === 'tool' && item.schema.properties?.database !== undefined
  return takesOne && database.peek() ? { ...draft, database: database.peek() } : draft
}

function read(json: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

function Hints({ item: { kind, annotations } }: { item: Item }) {
  if (kind !== 'tool') return <Badge>{text.one[kind]}</Badge>
  return (
    <>
      {annotations.readOnlyHint === true && <Badge icon="lock">{text.readsOnly}</Badge>}
      {annotations.readOnlyHint !== true && annotations.destructiveHint === true && (
        <Badge kind="warn" icon="edit">
          {text.mayWrite}
        </Badge>
      )}
      {annotations.openWorldHint === true && <Badge icon="link">{text.asksOutside}</Badge>}
    </>
  )
}

const LONG = 240

function Description({ text: words }: { text: string }) {
  if (words.length <= LONG) {
    return (
      <p class="tool-description">
        <Foreign text={words} />
      </p>
    )
  }
  const end = words.slice(0, LONG).search(/[.:]\s[^.:]*$/) + 1 || LONG
  return (
    <details class="tool-description">
      <summary>
        <Foreign text={words.slice(0, end)} />
      </summary>
      <p>
        <Foreign text={words.slice(end).trim()} />
      </p>
    </details>
  )
}

/** A call that the server has asked back in, as the exchange that it is. */
const Steps = ({ steps }: { steps: Step[] }) => (
  <ol class="tool-steps">
    {steps.map(({ exchange, reply }, at) => (
      <li key={exchange.id} class="step" style={{ '--step': at }}>
        {reply && <span class="muted">{reply === 'accept' ? text.answered : reply === 'decline' ? text.declined : text.cancelled} · </span>}
        {asksIn(exchange.response) ? text.asks : text.result}
      </li>
    ))}
  </ol>
)
