import { type Signal, useSignal } from '@preact/signals'
import { makeExport, type ExportFormat } from '../../api/query'
import { ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { Dialog } from '../../parts/dialog'
import { Select, Switch } from '../../parts/field'
import { written, type Form } from '../../parts/grid/copy'
import type { GridModel } from '../../parts/grid/model'
import { saveFrom, saveText } from '../../parts/save'
import { toast } from '../../parts/toast'
import { session } from '../../shell/session'
import { sql as texts } from '../../text/sql'
import type { Run } from './run'

const FORMATS: readonly ExportFormat[] = ['csv', 'tsv', 'json', 'ndjson']

const FORMS: Record<ExportFormat, { form: Form; type: string }> = {
  csv: { form: 'csv', type: 'text/csv;charset=utf-8' },
  tsv: { form: 'tsv-names', type: 'text/tab-separated-values;charset=utf-8' },
  json: { form: 'json', type: 'application/json' },
  ndjson: { form: 'ndjson', type: 'application/x-ndjson' },
}

interface Props {
  readonly run: Run
  readonly model: GridModel
  readonly onClose: () => void
}

/** Saves rows as a file: those that are loaded, or all of them, written by the server. */
export function ExportDialog({ run, model, onClose }: Props) {
  const what = useSignal<'loaded' | 'all'>('loaded')
  const format = useSignal<ExportFormat>('csv')
  const guard = useSignal(false)
  const busy = useSignal(false)
  const problem = useSignal<unknown>(null)
  const mayExport = mayExportAll()
  const save = async (): Promise<void> => {
    problem.value = null
    if (what.value === 'loaded') {
      saveLoaded(model, format.value, guard.value)
      return onClose()
    }
    busy.value = true
    try {
      const { database } = run.order
      const request = { database, sql: run.sql, format: format.value, guard_formulas: guard.value }
      const { href } = await makeExport(request)
      saveFrom(href, '')
      toast(texts.exportStarted)
      onClose()
    } catch (failure) {
      problem.value = failure
    }
    busy.value = false
  }
  return (
    <Dialog
      title={texts.exportTitle}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button kind="main" icon="download" disabled={busy.value} onClick={() => void save()}>
            {texts.exportStart}
          </Button>
        </>
      }
    >
      {problem.value !== null && <ProblemBanner problem={problem.value} />}
      <Select
        label={texts.exportWhat}
        value={what.value}
        choices={[
          { value: 'loaded', label: texts.exportLoadedRows(model.shownRows.value) },
          ...(mayExport ? [{ value: 'all', label: texts.exportAllRows }] : []),
        ]}
        onChoose={(value) => (what.value = value as 'loaded' | 'all')}
      />
      <Format format={format} guard={guard} />
    </Dialog>
  )
}

interface FormatProps {
  readonly format: Signal<ExportFormat>
  readonly guard: Signal<boolean>
}

function Format({ format, guard }: FormatProps) {
  const hasFormulas = format.value === 'csv' || format.value === 'tsv'
  return (
    <>
      <Select
        label={texts.exportForm}
        value={format.value}
        choices={FORMATS.map((value) => ({ value, label: texts.exportFormats[value] }))}
        onChoose={(value) => (format.value = value as ExportFormat)}
      />
      {hasFormulas && (
        <>
          <Switch label={texts.exportGuard} on={guard.value} onToggle={(on) => (guard.value = on)} />
          <p class="hint">{texts.exportGuardHint}</p>
        </>
      )}
    </>
  )
}

/** The link of an export belongs to a session of this browser. */
function mayExportAll(): boolean {
  const caller = session.value
  return caller !== null && 'kind' in caller && caller.kind === 'user'
}

function saveLoaded(model: GridModel, format: ExportFormat, guard: boolean): void {
  const { form, type } = FORMS[format]
  saveText(written(model.shown(), form, guard), `rows.${format === 'ndjson' ? 'jsonl' : format}`, type)
}
