import { useSignal } from '@preact/signals'
import { Button } from '../../parts/button'
import { Dialog } from '../../parts/dialog'
import { Empty } from '../../parts/facts'
import { TextField } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { Icon } from '../../parts/icon'
import { date, time } from '../../text/format'
import { sql as texts } from '../../text/sql'
import type { Ran } from './storage'
import type { Work } from './work'

/** Entries in the document at a time; the filter finds the others. */
const SHOWN = 200

const SIGNS = { done: 'check', failed: 'error', stopped: 'stop' } as const

/** The statements that ran in this browser, latest first. */
export function HistoryList({
  work,
  onText,
}: {
  readonly work: Work
  readonly onText: (text: string) => void
}) {
  const words = useSignal('')
  const all = work.history.value
  if (all.length === 0) return <Empty icon="clock" title={texts.historyEmpty} />
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean)
  const found = all.filter(({ sql }) => wanted.every((word) => sql.toLowerCase().includes(word)))
  return (
    <div class="sql-list">
      <TextField
        label={texts.historyFilter}
        quiet
        type="search"
        placeholder={texts.historyFilter}
        value={words.value}
        onText={(text) => (words.value = text)}
      />
      {found.length === 0 && <p class="muted">{texts.historyNone}</p>}
      <ul class="history-list">
        {found.slice(0, SHOWN).map((ran, place) => (
          <li key={`${ran.at}-${place}`}>
            <button type="button" class="history-entry" onClick={() => onText(ran.sql)}>
              <span class="history-sql mono">
                <Foreign text={ran.sql.replace(/\s+/g, ' ').slice(0, 200)} />
              </span>
              <span class={`history-facts ${ran.outcome}`}>
                <Icon name={SIGNS[ran.outcome]} size={14} />
                <span class="spoken">{texts.historyOutcome[ran.outcome]}</span> {facts(ran)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <ClearHistory work={work} />
    </div>
  )
}

/** Deletes the history after a question. */
function ClearHistory({ work }: { readonly work: Work }) {
  const asking = useSignal(false)
  const close = (): void => {
    asking.value = false
  }
  const clear = (): void => {
    close()
    void work.clearHistory()
  }
  const actions = (
    <>
      <Button autofocus onClick={close}>
        {texts.cancel}
      </Button>
      <Button kind="danger" onClick={clear}>
        {texts.historyDelete}
      </Button>
    </>
  )
  return (
    <>
      <Button kind="quiet" icon="trash" onClick={() => (asking.value = true)}>
        {texts.historyClear}
      </Button>
      {asking.value && (
        <Dialog title={texts.historyClearTitle} onClose={close} actions={actions}>
          <p>{texts.historyClearText(work.history.value.length)}</p>
        </Dialog>
      )}
    </>
  )
}

function facts({ at, database, rows, ms }: Ran): string {
  const today = new Date().toDateString() === new Date(at).toDateString()
  return texts.historyFacts(database, today ? time(at) : date(at), rows, ms)
}
