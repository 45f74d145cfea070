import { useSignal } from '@preact/signals'
import { grid as texts } from '../../text/grid'
import type { Form } from './copy'
import { FloatingMenu } from './floating-menu'
import type { GridModel } from './model'

const FORMS: readonly [Form, string][] = [
  ['tsv', texts.copyTsv],
  ['tsv-names', texts.copyTsvNames],
  ['csv', texts.copyCsv],
  ['json', texts.copyJson],
  ['markdown', texts.copyMarkdown],
  ['in', texts.copyIn],
]

interface Props {
  readonly model: GridModel
  readonly onCopied: (text: string) => void
}

/** Copies the selected cells in a form. */
export function CopyMenu({ model, onCopied }: Props) {
  const anchor = useSignal<{ rect: DOMRect; button: HTMLElement } | null>(null)
  const copy = async (form: Form): Promise<void> => {
    const { rows, columns } = model.selected()
    try {
      await navigator.clipboard.writeText(model.copyText(form))
      onCopied(texts.copied(rows.length, columns.length))
    } catch {
      onCopied(texts.copyFailed)
    }
  }
  return (
    <>
      <button
        type="button"
        class="small"
        aria-haspopup="menu"
        aria-expanded={anchor.value !== null}
        onClick={({ currentTarget }) => {
          anchor.value = { rect: currentTarget.getBoundingClientRect(), button: currentTarget }
        }}
      >
        {texts.copy} ▾
      </button>
      {anchor.value && (
        <FloatingMenu
          label={texts.copy}
          anchor={anchor.value.rect}
          items={FORMS.map(([form, text]) => ({ text, run: () => void copy(form) }))}
          onClose={() => {
            anchor.value?.button.focus()
            anchor.value = null
          }}
        />
      )}
    </>
  )
}
