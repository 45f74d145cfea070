import { markdown as text } from '../text/markdown'
import { Button } from './button'
import { CodeText } from './code-text'
import { Dialog } from './dialog'

/** Shows the whole address of a link that is not ours before it is opened. */
export function LinkDialog({ address, onClose }: { address: string; onClose: () => void }) {
  return (
    <Dialog
      title={text.linkTitle}
      onClose={onClose}
      actions={
        <>
          <Button autofocus onClick={onClose}>
            {text.cancel}
          </Button>
          <a class="button danger" href={address} target="_blank" rel="noopener noreferrer" onClick={onClose}>
            {text.openLink}
          </a>
        </>
      }
    >
      <p>{text.linkText}</p>
      <CodeText text={address} copies={false} />
    </Dialog>
  )
}
