import { useEffect, useState } from 'preact/hooks'
import { Button } from '../../parts/button'
import { Field, Select, Switch, TextField } from '../../parts/field'
import { available } from '../../shell/session'
import { activity } from '../../text/activity'
import { audit as text } from '../../text/audit'
import { NOTHING, type Period, PERIODS, VERDICTS, type Wanted } from './audit-filter'

/** Fields for what is wanted. Choices take effect at once, words with Enter or the button. */
export function AuditFilters({ wanted, onSearch }: { wanted: Wanted; onSearch: (wanted: Wanted) => void }) {
  const [draft, setDraft] = useState(wanted)
  // Back and Forward change what is wanted as well.
  useEffect(() => setDraft(wanted), [JSON.stringify(wanted)])
  const set = (part: Partial<Wanted>) => setDraft({ ...draft, ...part })
  const choose = (part: Partial<Wanted>) => {
    set(part)
    onSearch({ ...draft, ...part })
  }
  const names = (available.value ?? []).map(({ name }) => name)
  const databases = draft.database && !names.includes(draft.database) ? [...names, draft.database] : names
  const isUsual = JSON.stringify(draft) === JSON.stringify(NOTHING)
  return (
    <form
      class="audit-filters"
      aria-label={text.filters}
      onSubmit={(event) => {
        event.preventDefault()
        onSearch(draft)
      }}
    >
      <Select
        label={text.when}
        value={draft.period}
        choices={PERIODS.map((value) => ({ value, label: text.periods[value] }))}
        onChoose={(value) => (value === 'between' ? set({ period: value }) : choose({ period: value as Period, from: '', to: '' }))}
      />
      {draft.period === 'between' && (
        <>
          <Moment label={text.from} value={draft.from} onText={(from) => set({ from })} />
          <Moment label={text.to} value={draft.to} onText={(to) => set({ to })} />
        </>
      )}
      <Select
        label={text.verdict}
        value={draft.verdict}
        choices={[{ value: '', label: text.anyVerdict }, ...VERDICTS.map((value) => ({ value, label: activity.outcomes[value] ?? value }))]}
        onChoose={(verdict) => choose({ verdict })}
      />
      <Select
        label={text.database}
        value={draft.database}
        choices={[{ value: '', label: text.anyDatabase }, ...databases.map((value) => ({ value, label: value }))]}
        onChoose={(database) => choose({ database })}
      />
      <TextField label={text.caller} value={draft.caller} onText={(caller) => set({ caller })} autocomplete="off" />
      <TextField label={text.tool} value={draft.tool} onText={(tool) => set({ tool })} autocomplete="off" class="mono" />
      <TextField label={text.words} type="search" value={draft.words} onText={(words) => set({ words })} autocomplete="off" />
      <Switch label={text.statements} on={draft.calls !== 'all'} onToggle={(on) => choose({ calls: on ? NOTHING.calls : 'all' })} />
      <div class="button-row">
        <Button kind="main" icon="search" type="submit">
          {text.search}
        </Button>
        {!isUsual && (
          <Button
            kind="quiet"
            onClick={() => {
              setDraft(NOTHING)
              onSearch(NOTHING)
            }}
          >
            {text.clear}
          </Button>
        )}
      </div>
    </form>
  )
}

const Moment = ({ label, value, onText }: { label: string; value: string; onText: (value: string) => void }) => (
  <Field label={label}>{(tied) => <input {...tied} type="datetime-local" class="control" value={value} onInput={(event) => onText(event.currentTarget.value)} />}</Field>
)
