import { hasToken } from '../api/rag'
import { Button, IconButton } from '../parts/button'
import { CodeText } from '../parts/code-text'
import { Select, Switch, TextField } from '../parts/field'
import { Foreign } from '../parts/foreign'
import { rag as text } from '../text/rag'
import { before, draft, pipeline, settings } from './dialogue'
import { curlOf, type FilterLine, OPERATORS, type Operator, questionOf, type Settings, takesNoValue } from './request'

const change = (part: Partial<Settings>): void => {
  settings.value = { ...settings.peek(), ...part }
}

/** The members of the next question, and the command that sends the same. */
export function SettingsForm() {
  const of = pipeline.value
  const now = settings.value
  if (!of) return null
  const question = questionOf(draft.value.trim() || text.placeholder, now, of, before())
  return (
    <section class="rag-form" aria-label={text.settings}>
      <h2>{text.settings}</h2>
      {of.description && (
        <p class="muted">
          <Foreign text={of.description} />
        </p>
      )}
      <TextField label={text.results} type="number" value={now.results} placeholder={String(of.top_n)} hint={text.resultsHint(of.top_n)} onText={(results) => change({ results })} autocomplete="off" />
      {of.hybrid && <Switch label={text.byWords} on={now.byWords} onToggle={(byWords) => change({ byWords })} />}
      {of.sources && <Switch label={text.citations} on={now.citations} onToggle={(citations) => change({ citations })} />}
      <Switch label={text.followUp} on={now.followUp} onToggle={(followUp) => change({ followUp })} />
      <div>
        <Switch label={text.debug} on={now.debug} onToggle={(debug) => change({ debug })} />
        <p class="hint">{text.debugHint}</p>
      </div>
      <Filter lines={now.filter} logic={now.logic} />
      <details class="rag-curl">
        <summary>{text.request}</summary>
        <CodeText text={curlOf(location.origin, of.name, question, hasToken())} label={text.request} />
        {hasToken() && <p class="hint">{text.withToken}</p>}
      </details>
    </section>
  )
}

function Filter({ lines, logic }: { lines: readonly FilterLine[]; logic: Settings['logic'] }) {
  const changed = (at: number, part: Partial<FilterLine>) => change({ filter: lines.map((line, place) => (place === at ? { ...line, ...part } : line)) })
  return (
    <fieldset class="rag-filter">
      <legend>{text.filter}</legend>
      {lines.map((line, at) => (
        <div key={at} class="rag-condition">
          <TextField label={text.column(at + 1)} quiet placeholder={text.column(at + 1)} value={line.column} class="mono" autocomplete="off" onText={(column) => changed(at, { column })} />
          <Select label={text.operator(at + 1)} quiet value={line.operator} choices={OPERATORS.map((value) => ({ value, label: value }))} onChoose={(operator) => changed(at, { operator: operator as Operator })} />
          <IconButton icon="close" name={text.removeCondition(at + 1)} tip="end" onClick={() => change({ filter: lines.filter((_, place) => place !== at) })} />
          {!takesNoValue(line.operator) && <TextField label={text.value(at + 1)} quiet placeholder={text.value(at + 1)} value={line.value} class="mono" autocomplete="off" onText={(value) => changed(at, { value })} />}
        </div>
      ))}
      {lines.length > 1 && (
        <Select
          label={text.logic}
          value={logic}
          choices={(['AND', 'OR'] as const).map((value) => ({ value, label: text.logics[value] }))}
          onChoose={(value) => change({ logic: value as Settings['logic'] })}
        />
      )}
      {lines.length > 0 && <p class="hint">{text.filterHint}</p>}
      <Button kind="quiet" icon="plus" onClick={() => change({ filter: [...lines, { column: '', operator: '=', value: '' }] })}>
        {text.addCondition}
      </Button>
    </fieldset>
  )
}
