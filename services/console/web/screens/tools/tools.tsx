import { useState } from 'preact/hooks'
import { MODERN, type Revision, REVISIONS } from '../../api/mcp'
import { ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { Dialog } from '../../parts/dialog'
import { Empty } from '../../parts/facts'
import { Select } from '../../parts/field'
import { useLoaded } from '../../parts/loaded'
import { Loading } from '../../parts/loading'
import { Splitter } from '../../parts/splitter'
import { place, replace } from '../../shell/router'
import { tools as text } from '../../text/tools'
import { Call } from './call'
import { catalogue } from './catalogue'
import { ExchangeView } from './exchange-view'
import { idOf, ItemList } from './item-list'

/** The screen for trying what the server offers to clients of the protocol. */
export default function Tools() {
  const [drawer, setDrawer] = useState(false)
  const { query } = place.value
  const revision = REVISIONS.find((known) => known === query.get('revision')) ?? MODERN
  const current = query.get('open') ?? ''

  const { value, problem, again, stop } = useLoaded((signal) => catalogue(revision, signal), [revision])

  const items = value ?? []
  const isLoading = value === null && problem === null
  const item = items.find((known) => idOf(known) === current) ?? (current === '' ? items[0] : undefined)
  const chosen = item ? idOf(item) : ''
  return (
    <div class="screen tools-screen">
      <aside class="tools-list" aria-label={text.list} data-region>
        {isLoading ? <Loading lines={8} /> : <ItemList items={items} current={chosen} />}
      </aside>
      <Splitter name="tools-list-size" label={text.list} initial={232} smallest={180} largest={420} />
      <div class="tools-work">
        <div class="tools-bar">
          <h1>{text.title}</h1>
          <Button class="tools-open-list" icon="filter" onClick={() => setDrawer(true)}>
            {text.openList}
          </Button>
          <Select
            label={text.revision}
            value={revision}
            choices={REVISIONS.map((value) => ({ value, label: value }))}
            onChoose={(value) => replace({ query: { revision: (value as Revision) === MODERN ? null : value } })}
          />
        </div>
        {problem !== null && <ProblemBanner problem={problem} onRetry={again} />}
        {isLoading && <Loading onStop={stop} />}
        {item && <Call key={chosen} item={item} revision={revision} />}
        {value !== null && !item && <Empty icon="tools" title={current ? text.missing(current) : text.nothing} />}
      </div>
      <Splitter name="tools-exchange-size" label={text.exchange} from="end" initial={400} smallest={280} largest={720} />
      <section class="tools-exchange" aria-label={text.exchange} data-region>
        <h2>{text.exchange}</h2>
        <ExchangeView />
      </section>
      {drawer && (
        <Dialog title={text.list} side="start" onClose={() => setDrawer(false)}>
          <ItemList items={items} current={chosen} onChoose={() => setDrawer(false)} />
        </Dialog>
      )}
    </div>
  )
}
