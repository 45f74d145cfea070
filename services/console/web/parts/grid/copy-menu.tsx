import { grid as texts } from '../../text/grid'
import { Icon } from '../icon'
import { Menu } from '../menu'
import type { Form } from './copy'
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
    <Menu
      label={texts.copy}
      align="end"
      class="outlined"
      trigger={
        <>
          <Icon name="copy" size={16} />
          <span>{texts.copy}</span>
          <Icon name="down" size={16} />
        </>
      }
      items={FORMS.map(([form, label]) => ({ label, onChoose: () => void copy(form) }))}
    />
  )
}
