import { useState } from 'preact/hooks'
import { type Configuration, configuration, type Reloaded, type Setting } from '../../api/admin'
import { Banner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { Badge } from '../../parts/facts'
import { Switch } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { Table, type TableColumn } from '../../parts/table'
import { admin } from '../../text/admin'
import { useLoaded } from '../../parts/loaded'
import { Moment } from './moment'
import { fits, ListBar, Part } from './part'
import { Reload, ReloadResult } from './reload'

const text = admin.configuration

/** The configuration that is in effect: each key, its value, and where it is from. */
export function ConfigurationPart() {
  const loaded = useLoaded(configuration)
  const [reloading, setReloading] = useState(false)
  const [result, setResult] = useState<Reloaded | null>(null)
  return (
    <>
      <Part loaded={loaded}>
        {(value) => (
          <>
            {result && <ReloadResult result={result} />}
            <Values configuration={value} onReload={() => setReloading(true)} />
          </>
        )}
      </Part>
      {reloading && (
        <Reload
          onDone={(done) => {
            setResult(done)
            setReloading(false)
            loaded.again()
          }}
          onClose={() => setReloading(false)}
        />
      )}
    </>
  )
}

function Values({ configuration: { path, loaded_at, values, needs_restart }, onReload }: { configuration: Configuration; onReload: () => void }) {
  const [words, setWords] = useState('')
  const [setOnly, setSetOnly] = useState(false)
  const shown = values.filter((setting) => fits(words, setting.key, valueText(setting)) && (!setOnly || isSet(setting)))
  return (
    <>
      {needs_restart.length > 0 && (
        <Banner kind="warn" title={text.restartTitle}>
          <Foreign text={text.restartText(needs_restart.join(', '))} />
        </Banner>
      )}
      <ListBar words={words} onWords={setWords}>
        <Button icon="reload" onClick={onReload}>
          {text.reload}
        </Button>
        <Switch label={text.changedOnly} on={setOnly} onToggle={setSetOnly} />
      </ListBar>
      <p class="muted">
        {path ? <Foreign text={text.file(path)} /> : text.noFile}
        , {text.loaded} <Moment at={loaded_at} />
        {' · '}
        <span role="status">{text.shown(shown.length, values.length)}</span>
      </p>
      {shown.length ? <Table class="settings" label={admin.part.configuration} columns={columnsFor(needs_restart)} rows={shown} keyOf={({ key }) => key} /> : <p class="muted">{admin.noMatch}</p>}
    </>
  )
}

const isSet = ({ is_set, source }: Setting): boolean => is_set ?? (source !== undefined && source !== 'default')

const columnsFor = (restart: readonly string[]): TableColumn<Setting>[] => [
  {
    title: text.columns.key,
    cell: ({ key }) => (
      <span class="mono">
        <Foreign text={key} /> {restart.includes(key) && <Badge kind="warn">{text.restart}</Badge>}
      </span>
    ),
  },
  { title: text.columns.value, cell: (setting) => <Value setting={setting} /> },
  { title: text.columns.source, cell: ({ source }) => source && <span class={source === 'default' ? 'muted' : ''}>{text.sources[source] ?? source}</span> },
]

function Value({ setting }: { setting: Setting }) {
  if (setting.is_set !== undefined) return <Badge icon="lock">{setting.is_set ? text.set : text.notSet}</Badge>
  const shown = valueText(setting)
  if (shown === '') return <span class="muted">{setting.value === '' ? text.empty : text.notSet}</span>
  return (
    <span class="mono">
      <Foreign text={shown} />
    </span>
  )
}

/** A value as it stands in a file: texts as they are, lists of texts with commas, all else as JSON. */
function valueText({ value }: Setting): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ')
  return JSON.stringify(value)
}
