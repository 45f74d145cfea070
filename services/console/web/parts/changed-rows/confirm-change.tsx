import type { ComponentChildren } from 'preact'
import type { Looked } from '../../api/preview'
import { changes } from '../../text/changes'
import { Banner } from '../banner'
import { ConfirmRun } from '../confirm-run'
import { Foreign } from '../foreign'
import { ChangedRows } from './changed-rows'

/** Asks before a text changes data. With a preview, exactly these changes are committed. */
export function ConfirmChange({ title, text, run, seen, children, onDecide }: { title: string; text: string; run: string; seen: Looked; children: ComponentChildren; onDecide: (runs: boolean) => void }) {
  const { preview, reason, changed } = seen
  const words = preview ? { title: changes.title(preview), run: changes.commit, leave: changes.leave } : { title, run }
  return (
    <ConfirmRun {...words} text={text} label={changes.statement} onDecide={onDecide}>
      {changed && <Banner kind="warn" title={changes.changed} />}
      {children}
      {preview && <ChangedRows preview={preview} />}
      {!preview && reason && (
        <p>
          <Foreign text={changes.none(reason)} />
        </p>
      )}
    </ConfirmRun>
  )
}
