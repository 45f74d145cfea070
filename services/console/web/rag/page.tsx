import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { hasToken } from '../api/rag'
import { Problem } from '../api/problem'
import { ProblemBanner } from '../parts/banner'
import { Button, IconButton } from '../parts/button'
import { Dialog } from '../parts/dialog'
import { Badge, Empty } from '../parts/facts'
import { Select } from '../parts/field'
import { Mark } from '../parts/icon'
import { Loading } from '../parts/loading'
import { Splitter } from '../parts/splitter'
import { ThemeMenu } from '../parts/theme'
import { Toasts } from '../parts/toast'
import { nextRegion } from '../shell/keys'
import { rag as text } from '../text/rag'
import { Conversation } from './conversation'
import { choose, chosen, listed, offered, offerProblem, pipeline, start } from './dialogue'
import { drawer } from './drawer'
import { Passages } from './passages'
import { ServerState } from './server-state'
import { SettingsForm } from './settings-form'
import { TokenForm } from './token-form'

/** The console of the server for answers. */
export function Page() {
  useEffect(() => {
    void start()
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault()
          document.getElementById('content')?.focus()
        }}
      >
        {text.skip}
      </a>
      <div class="rag-frame">
        <Top />
        <Content />
      </div>
      <Toasts />
    </>
  )
}

function onKey(event: KeyboardEvent): void {
  if (event.key !== 'F6' || event.ctrlKey || event.altKey || event.metaKey || document.querySelector('dialog[open]')) return
  event.preventDefault()
  nextRegion(event.shiftKey)
}

function Top() {
  const list = offered.value?.pipelines ?? []
  const passages = listed.value?.sources?.length ?? 0
  return (
    <header class="top" data-region>
      <span class="rag-mark">
        <Mark />
        <span class="rag-product">{text.product}</span>
      </span>
      {list.length > 0 && <Select label={text.pipeline} quiet value={chosen.value} choices={list.map(({ name }) => ({ value: name, label: name }))} onChoose={choose} />}
      {pipeline.value?.keyless && <Badge>{text.keyless}</Badge>}
      <div class="top-end rag-top-end">
        {list.length > 0 && (
          <>
            <IconButton class="rag-settings-button" icon="tools" name={text.settings} tip="end" onClick={() => (drawer.value = 'settings')} />
            <Button class="rag-passages-button" disabled={passages === 0} onClick={() => (drawer.value = 'passages')}>
              {text.openPassages(passages)}
            </Button>
          </>
        )}
        <ThemeMenu />
      </div>
    </header>
  )
}

function Content() {
  const problem = offerProblem.value
  const offer = offered.value
  if (problem instanceof Problem && problem.status === 401) return <Middle><TokenForm wrong={hasToken()} /></Middle>
  if (problem !== null) return <Middle><ProblemBanner problem={problem} onRetry={() => void start()} /></Middle>
  if (!offer) return <Middle><Loading /></Middle>
  if (offer.pipelines.length === 0) return <Middle><Empty icon="database" title={text.noPipelines}>{text.noPipelinesText}</Empty></Middle>
  return (
    <main class="rag-columns" id="content" tabIndex={-1}>
      <aside class="rag-settings" aria-label={text.settings} data-region>
        {drawer.value !== 'settings' && <Settings />}
      </aside>
      <Splitter name="rag-settings" label={text.settingsWidth} initial={272} smallest={220} largest={420} />
      <section class="rag-work" aria-label={text.conversation} data-region>
        <Conversation />
      </section>
      <Splitter name="rag-passages" label={text.passagesWidth} from="end" initial={380} smallest={260} largest={640} />
      <aside class="rag-passages" aria-label={text.passages} data-region>
        {drawer.value !== 'passages' && <Passages />}
      </aside>
      {drawer.value && (
        <Dialog title={text[drawer.value]} side={drawer.value === 'settings' ? 'start' : 'end'} onClose={() => (drawer.value = null)}>
          {drawer.value === 'settings' ? <Settings /> : <Passages />}
        </Dialog>
      )}
    </main>
  )
}

const Middle = ({ children }: { children: ComponentChildren }) => (
  <main class="starting" id="content" tabIndex={-1} data-region>
    <h1 class="spoken">{text.product}</h1>
    {children}
  </main>
)

const Settings = () => (
  <div class="rag-settings-body">
    <SettingsForm />
    <ServerState />
  </div>
)
