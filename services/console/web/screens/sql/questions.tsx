import { useSignal } from '@preact/signals'
import { previewOf } from '../../api/query'
import { ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { ChangedRows } from '../../parts/changed-rows/changed-rows'
import { CodeText } from '../../parts/code-text'
import { ConfirmChange } from '../../parts/changed-rows/confirm-change'
import { Dialog } from '../../parts/dialog'
import { Facts } from '../../parts/facts'
import { TextField } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { useLoaded } from '../../parts/loaded'
import { Loading } from '../../parts/loading'
import { changes } from '../../text/changes'
import { shell } from '../../text/shell'
import { sql as texts } from '../../text/sql'
import { filled } from './placeholders'
import type { Question, Work } from './work'

/** The dialogs before a statement runs. */
export function Questions({ work }: { readonly work: Work }) {
  const question = work.question.value
  if (question?.kind === 'confirm') return <Confirm question={question} />
  if (question?.kind === 'values') return <Values question={question} work={work} />
  if (question?.kind === 'preview') return <Preview question={question} />
  return null
}

/** Shows the whole statement and its database before it may change data. */
function Confirm({ question }: { readonly question: Question & { kind: 'confirm' } }) {
  const { demand, answer } = question
  return (
    <ConfirmChange title={texts.confirmTitle} text={demand.statement} run={texts.confirmRun} seen={demand} onDecide={answer}>
      <Facts facts={[[texts.confirmWhere, <Foreign key="database" text={demand.database} />]]} />
      {!demand.preview && <p>{texts.confirmText}</p>}
    </ConfirmChange>
  )
}

/** Shows the rows that a statement would change, and leaves the data as they are. */
function Preview({ question }: { readonly question: Question & { kind: 'preview' } }) {
  const { sql, database, answer } = question
  const { value, problem, again, stop } = useLoaded((signal) => previewOf({ database, sql }, signal), [sql, database])
  return (
    <Dialog title={value ? changes.title(value) : changes.preview} wide onClose={answer} actions={<Button onClick={answer}>{shell.close}</Button>}>
      <Facts facts={[[texts.confirmWhere, <Foreign key="database" text={database} />]]} />
      <CodeText text={sql} label={changes.statement} copies={false} />
      {problem ? <ProblemBanner problem={problem} onRetry={again} /> : value ? <ChangedRows preview={value} /> : <Loading onStop={stop} />}
    </Dialog>
  )
}

/** Asks for the values of a statement and shows the statement that runs. */
function Values({
  question,
  work,
}: {
  readonly question: Question & { kind: 'values' }
  readonly work: Work
}) {
  const { sql, names, answer } = question
  const values = useSignal(
    new Map(names.map((name) => [name, work.valueOf(name) ?? ''] as [string, string | null])),
  )
  return (
    <Dialog
      title={texts.valuesTitle}
      wide
      onClose={() => answer(null)}
      actions={
        <>
          <Button onClick={() => answer(null)}>{texts.cancel}</Button>
          <Button kind="main" icon="run" onClick={() => answer(values.value)}>
            {texts.run}
          </Button>
        </>
      }
    >
      <p class="muted">{texts.valuesText}</p>
      <form
        class="sql-values"
        onSubmit={(event) => {
          event.preventDefault()
          answer(values.value)
        }}
      >
        {names.map((name, place) => (
          <Value
            key={name}
            name={name}
            value={values.value.get(name) ?? null}
            isFirst={place === 0}
            onChange={(value) => (values.value = new Map(values.value).set(name, value))}
          />
        ))}
        <button type="submit" class="spoken" tabIndex={-1} aria-hidden="true" />
      </form>
      <h3>{texts.valuesPreview}</h3>
      <CodeText text={filled(sql, values.value).sql} label={texts.valuesPreview} copies={false} />
    </Dialog>
  )
}

interface ValueProps {
  readonly name: string
  readonly value: string | null
  readonly isFirst: boolean
  readonly onChange: (value: string | null) => void
}

/** A field for a value, which may be NULL instead. */
function Value({ name, value, isFirst, onChange }: ValueProps) {
  return (
    <div class="sql-value">
      <TextField
        label={name}
        value={value ?? ''}
        disabled={value === null}
        autofocus={isFirst}
        autocomplete="off"
        class="mono"
        onText={onChange}
      />
      <label class="sql-null">
        <input
          type="checkbox"
          aria-label={texts.valueNull(name)}
          checked={value === null}
          onChange={(event) => onChange(event.currentTarget.checked ? null : '')}
        />{' '}
        NULL
      </label>
    </div>
  )
}
