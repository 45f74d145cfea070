import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { withReceipt } from '../../api/query'
import { Button } from '../../parts/button'
import { Grid } from '../../parts/grid/grid'
import type { GridModel } from '../../parts/grid/model'
import type { Rows } from '../../parts/grid/rows'
import { saveText } from '../../parts/save'
import { toast } from '../../parts/toast'
import { session } from '../../shell/session'
import { sql as texts } from '../../text/sql'
import { ExportDialog } from './export-dialog'
import type { Run } from './run'
import type { Sheet } from './sheet'
import type { Work } from './work'

/** Limits that follow each other when more rows are loaded. */
const NEXT_LIMIT = 10
const MOST_LOADED = 100_000

interface Props {
  readonly work: Work
  readonly sheet: Sheet
  readonly run: Run
  readonly rows: Rows
}

/** The rows of a result, with the ways to get more of them and to take them away. */
export function RowsView({ work, sheet, run, rows }: Props) {
  const exporting = useSignal(false)
  const model = useRef<GridModel | null>(null)
  const more = moreOf(run)
  return (
    <>
      <Grid rows={rows} label={texts.views.rows} onModel={(made) => (model.current = made)}>
        {more > 0 && !sheet.busy.value && (
          <Button
            title={texts.loadMoreHint}
            class="small"
            onClick={() => void work.loadMore(sheet, run, more)}
          >
            {texts.loadMore(more)}
          </Button>
        )}
        {mayKeep(run) && (
          <Button class="small" title={texts.keepHint} onClick={() => void keep(run)}>
            {texts.keep}
          </Button>
        )}
        <Button icon="download" class="small" onClick={() => (exporting.value = true)}>
          {texts.exportMenu}
        </Button>
      </Grid>
      {exporting.value && model.current && (
        <ExportDialog run={run} model={model.current} onClose={() => (exporting.value = false)} />
      )}
    </>
  )
}

/** Tells whether a statement that only read can be kept with a receipt. */
function mayKeep(run: Run): boolean {
  const caller = session.value
  const hasReceipts = caller && 'features' in caller && caller.features.receipts
  return hasReceipts === true && run.done.value?.command === null
}

/** Saves an answer with its receipt. */
async function keep(run: Run): Promise<void> {
  const { database, limit } = run.order
  try {
    const kept = await withReceipt({ database, sql: run.sql, max_rows: limit })
    saveText(kept, 'receipt.json', 'application/json')
  } catch (problem) {
    toast((problem as Error).message, 'danger')
  }
}

/** The next limit, or 0 if there are no more rows or no higher limit. */
function moreOf(run: Run): number {
  if (run.done.value?.truncated !== 'rows') return 0
  const caller = session.value
  const most = (caller && 'limits' in caller && caller.limits.max_rows) || MOST_LOADED
  const next = Math.min(run.order.limit * NEXT_LIMIT, most, MOST_LOADED)
  return next > run.order.limit ? next : 0
}
