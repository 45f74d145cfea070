import { signal } from '@preact/signals'
import { Dialog } from '../parts/dialog'
import { Keys } from '../parts/facts'
import { shell } from '../text/shell'
import { COMMAND_KEY } from './keys'

/** Is true while the list of keys is shown. */
export const keyListOpen = signal(false)

/** All keys of the console. */
export function KeyList() {
  const text = shell.keyList
  const lines: [string, string[]][] = [
    [text.palette, [COMMAND_KEY, 'K']],
    [text.run, [COMMAND_KEY, 'Enter']],
    [text.stop, ['Esc']],
    [text.save, [COMMAND_KEY, 'S']],
    [text.focus, [COMMAND_KEY, 'E']],
    [text.region, ['F6']],
    [text.list, [COMMAND_KEY, '/']],
  ]
  return (
    <Dialog title={text.title} onClose={() => (keyListOpen.value = false)}>
      <dl class="key-list">
        {lines.map(([name, keys]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Keys keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
      <p class="muted">{text.within}</p>
      <p class="muted">{text.editor}</p>
    </Dialog>
  )
}
