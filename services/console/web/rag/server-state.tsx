import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { hasToken, health, type Health, stats, type Stats, takeToken } from '../api/rag'
import { ProblemBanner } from '../parts/banner'
import { Button } from '../parts/button'
import { Badge, Facts } from '../parts/facts'
import { Foreign } from '../parts/foreign'
import { Loading } from '../parts/loading'
import { rag as text } from '../text/rag'
import { offered, start, startOver } from './dialogue'
import { UseInAssistant } from './use-in-assistant'

/** State of the providers and counters of the server, each asked for when the person wants it. */
export function ServerState() {
  const version = offered.value?.version
  return (
    <section class="rag-form" aria-label={text.server}>
      <h2>{text.server}</h2>
      <OnDemand name={text.check} hint={text.checkHint} load={health} show={(found) => <HealthFacts health={found} />} />
      <OnDemand name={text.counters} hint={text.countersHint} load={stats} show={(found) => <Counters stats={found} />} />
      <UseInAssistant />
      {hasToken() && (
        <Button
          kind="quiet"
          icon="key"
          onClick={() => {
            takeToken('')
            startOver()
            void start()
          }}
        >
          {text.otherToken}
        </Button>
      )}
      <p class="muted">
        {version && text.version(version)} · <a href="/v1/openapi.json">{text.api}</a>
      </p>
    </section>
  )
}

function OnDemand<T>({ name, hint, load, show }: { name: string; hint: string; load: () => Promise<T>; show: (found: T) => ComponentChildren }) {
  const [found, setFound] = useState<{ value: T } | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const ask = () => {
    setBusy(true)
    setProblem(null)
    load()
      .then((value) => setFound({ value }), setProblem)
      .finally(() => setBusy(false))
  }
  return (
    <div class="rag-on-demand">
      <Button icon="reload" disabled={busy} onClick={ask}>
        {name}
      </Button>
      {!found && !busy && problem === null && <p class="hint">{hint}</p>}
      <div aria-live="polite">
        {busy && <Loading lines={2} />}
        {problem !== null && <ProblemBanner problem={problem} />}
        {!busy && found && problem === null && show(found.value)}
      </div>
    </div>
  )
}

function HealthFacts({ health: { status, pipelines = [] } }: { health: Health }) {
  return (
    <>
      <Badge kind={status === 'healthy' ? 'ok' : 'warn'} icon={status === 'healthy' ? 'check' : 'warning'}>
        {text[status]}
      </Badge>
      {pipelines.map(({ name, embedding, completion, search, sync = [] }) => (
        <section key={name} class="rag-health">
          <h3>
            <Foreign text={name} />
          </h3>
          <Facts
            facts={[
              [text.embedding, <Said key="embedding" error={embedding.error} />],
              [text.completion, <Said key="completion" error={completion.error} />],
              ...(search ? [[text.searchByMeaning, <Said key="search" error={search.error} />] as const] : []),
              ...sync.map(({ table, working, backlog = 0, failed = 0 }) => [text.sync(table), working ? text.syncOf(backlog, failed) : text.syncUnknown] as const),
            ]}
          />
        </section>
      ))}
    </>
  )
}

const Said = ({ error }: { error: string | undefined }) =>
  error ? (
    <span class="rag-bad">
      <Foreign text={error} />
    </span>
  ) : (
    <>{text.reachable}</>
  )

function Counters({ stats: { pipelines } }: { stats: Stats }) {
  return (
    <>
      {pipelines.map(({ name, embedding, completion }) => (
        <section key={name} class="rag-health">
          <h3>
            <Foreign text={name} />
          </h3>
          <Facts
            facts={[
              [text.completion, text.tokens(completion.prompt_tokens, completion.completion_tokens)],
              [text.embedding, text.tokens(embedding.prompt_tokens, embedding.completion_tokens)],
            ]}
          />
        </section>
      ))}
    </>
  )
}
