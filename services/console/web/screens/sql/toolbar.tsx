import { Button, IconButton } from '../../parts/button'
import { Icon } from '../../parts/icon'
import { Menu } from '../../parts/menu'
import { toast } from '../../parts/toast'
import { COMMAND_KEY } from '../../shell/keys'
import { addressOf, place } from '../../shell/router'
import { session } from '../../shell/session'
import { changes } from '../../text/changes'
import { library } from '../../text/library'
import { sql as texts } from '../../text/sql'
import { save, saveAsNew } from './saving'
import type { Sheet } from './sheet'
import type { Manner, Work } from './work'

const LIMITS = [100, 1_000, 10_000, 100_000]

/** Seconds; null leaves it to the database, which is the upper limit of all. */
const TIME_LIMITS = [null, 5, 30, 120]

/** Longest text that a link carries; browsers and programs cut longer addresses. */
const MAX_LINK = 6000

interface Props {
  readonly work: Work
  readonly sheet: Sheet
  readonly onRun: (manner: Manner) => void
  /** Is there if the database has previews. */
  readonly onPreview: (() => void) | null
  readonly onSide: () => void
  readonly text: () => string
}

/** Buttons of the editor. */
export function Toolbar({ work, sheet, onRun, onPreview, onSide, text }: Props) {
  const busy = sheet.busy.value
  return (
    <div class="sql-tools">
      <IconButton icon="table" name={texts.showSide} tip="start" class="sql-side-button" onClick={onSide} />
      {busy ? (
        <Button icon="stop" kind="danger" onClick={() => sheet.stop()}>
          {texts.stop}
        </Button>
      ) : (
        <Button icon="run" kind="main" title={texts.runHint} onClick={() => onRun('rows')}>
          {texts.run}
        </Button>
      )}
      {onPreview && (
        <Button icon="table" title={changes.previewHint} disabled={busy} onClick={onPreview}>
          {changes.preview}
        </Button>
      )}
      <Menu
        label={texts.explain}
        class="outlined"
        trigger={
          <>
            <Icon name="step" size={16} />
            <span class="explain-text">{texts.explain}</span>
            <Icon name="down" size={16} />
          </>
        }
        items={[
          { label: texts.explain, onChoose: () => onRun('explain') },
          { label: texts.analyze, onChoose: () => onRun('analyze') },
        ]}
      />
      <IconButton icon="save" name={texts.saveHint(COMMAND_KEY)} class="sql-save" onClick={() => void save(work, sheet)} />
      <Limit work={work} />
      <Menu
        label={texts.moreActions}
        align="end"
        class="only-icon"
        trigger={<Icon name="more" />}
        items={[
          { label: library.save, icon: 'save', note: `${COMMAND_KEY} S`, onChoose: () => void save(work, sheet) },
          ...(sheet.saved.value ? [{ label: texts.saveAsNew, icon: 'plus' as const, onChoose: () => void saveAsNew(work, sheet, null) }] : []),
          { label: texts.copyLink, icon: 'link', onChoose: () => void copyLink(text()) },
          { label: texts.closeSheet(sheet.title.value), icon: 'close', onChoose: () => work.close(sheet) },
          { heading: texts.timeLimit },
          ...TIME_LIMITS.map((seconds) => ({
            label: seconds === null ? texts.timeOfDatabase : texts.timeOf(seconds),
            checked: work.timeLimit.value === seconds,
            onChoose: () => (work.timeLimit.value = seconds),
          })),
        ]}
      />
    </div>
  )
}

function Limit({ work }: { readonly work: Work }) {
  const caller = session.value
  const most = caller && 'limits' in caller ? caller.limits.max_rows : 0
  const allowed =
    most > 0 ? [...LIMITS.filter((rows) => rows < most), Math.min(most, LIMITS.at(-1) ?? most)] : LIMITS
  const limits = [...new Set(allowed)]
  const value = limits.includes(work.limit.value) ? work.limit.value : (limits.at(-1) ?? 100)
  if (value !== work.limit.value) work.limit.value = value
  return (
    <select
      class="control sql-limit"
      aria-label={texts.limit}
      value={value}
      onChange={(event) => (work.limit.value = Number(event.currentTarget.value))}
    >
      {limits.map((rows) => (
        <option key={rows} value={rows}>
          {texts.limitOf(rows)}
        </option>
      ))}
    </select>
  )
}

async function copyLink(text: string): Promise<void> {
  const address = new URL(addressOf(place.peek(), { hash: text }), location.origin).href
  if (address.length > MAX_LINK) return toast(texts.linkTooLong, 'danger')
  await navigator.clipboard.writeText(address)
  toast(texts.linkCopied)
}
