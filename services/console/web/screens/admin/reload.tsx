import { reloadConfiguration, type Reloaded } from '../../api/admin'
import { Banner } from '../../parts/banner'
import { Foreign } from '../../parts/foreign'
import { ChangeDialog } from '../../shell/change-dialog'
import { admin } from '../../text/admin'

const text = admin.configuration

/** Asks before the server reads its configuration again. */
export function Reload({ onDone, onClose }: { onDone: (result: Reloaded) => void; onClose: () => void }) {
  return (
    <ChangeDialog title={text.reloadTitle} submit={text.reload} action={text.reloadAction} change={reloadConfiguration} onDone={onDone} onClose={onClose}>
      <p>{text.reloadText}</p>
    </ChangeDialog>
  )
}

/** The effect of reading the configuration again. */
export function ReloadResult({ result: { changed } }: { result: Reloaded }) {
  return (
    <div role="status">
      <Banner kind="ok" title={text.reloaded}>
        {changed.length ? (
          <>
            {text.changed(changed.length)}: <Foreign text={changed.join(', ')} />
          </>
        ) : (
          text.nothingChanged
        )}
      </Banner>
    </div>
  )
}
