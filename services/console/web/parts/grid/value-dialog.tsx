import { useState } from 'preact/hooks'
import { grid as texts } from '../../text/grid'
import { shell } from '../../text/shell'
import { Button } from '../button'
import { Dialog } from '../dialog'
import { Foreign } from '../foreign'
import { Tabs } from '../tabs'
import { copy } from '../toast'
import { cellText, isCut, isJsonType, type Cell, type Column } from './cell'
import { decoded } from './decode'
import { ExactNumber, parsed } from './exact-json'
import { JsonTree } from './json-tree'

export interface Shown {
  readonly cell: Cell
  readonly column: Column
  /** The number of the row in the result, from one. */
  readonly row: number
}

type Form = 'tree' | 'raw' | 'decoded'

interface Props {
  readonly shown: Shown
  readonly onClose: () => void
}

/** Shows a value in full: as it is, as a tree if it is JSON, and decoded if it holds another text. */
export function ValueDialog({ shown, onClose }: Props) {
  const { cell, column, row } = shown
  const text = cell === null ? texts.null : cellText(cell)
  const forms = formsOf(cell, column.type, text)
  const [form, setForm] = useState<Form>(forms[0] ?? 'raw')
  return (
    <Dialog
      title={texts.value(column.name)}
      wide
      onClose={onClose}
      actions={
        <>
          <Button icon="copy" onClick={() => void copy(text)}>
            {texts.copyValue}
          </Button>
          <Button kind="main" autofocus onClick={onClose}>
            {shell.close}
          </Button>
        </>
      }
    >
      <p class="muted">
        {texts.place(row, column.type)} · {texts.size(text.length)}
      </p>
      {isCut(cell) && <p class="value-cut">{texts.cut(cell.bytes)}</p>}
      <Tabs
        label={texts.forms}
        tabs={forms.map((name) => ({ name, title: texts[name] }))}
        current={form}
        onChoose={(name) => setForm(name as Form)}
      >
        <div class="value-body" tabIndex={0} role="region" aria-label={texts[form]}>
          <Body form={form} cell={cell} text={text} />
        </div>
      </Tabs>
    </Dialog>
  )
}

function formsOf(cell: Cell, type: string, text: string): Form[] {
  const value = treeOf(cell, text)
  const isTree = typeof value === 'object' && value !== null && !(value instanceof ExactNumber)
  const forms: Form[] = isTree || (isJsonType(type) && value !== undefined) ? ['tree', 'raw'] : ['raw']
  return typeof cell === 'string' && decoded(text) ? [...forms, 'decoded'] : forms
}

function treeOf(cell: Cell, text: string): unknown {
  return typeof cell === 'object' && !isCut(cell) ? cell : parsed(text)
}

function Body({ form, cell, text }: { readonly form: Form; readonly cell: Cell; readonly text: string }) {
  if (form === 'tree') return <JsonTree value={treeOf(cell, text)} />
  const inside = form === 'decoded' ? decoded(text) : null
  return (
    <>
      {inside && <p class="muted">{texts.decodedFrom(inside.form)}</p>}
      <pre>
        <Foreign text={inside?.text ?? text} />
      </pre>
    </>
  )
}
