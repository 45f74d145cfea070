import { useEffect, useRef, useState } from 'preact/hooks'
import { grid as texts } from '../../text/grid'
import { cellText, isCut, isJsonType, type Cell, type Column } from './cell'
import { decoded, parsed } from './decode'
import { JsonTree } from './json-tree'
import { Marked } from './marked'

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
  const dialog = useRef<HTMLDialogElement>(null)
  const { cell, column, row } = shown
  const text = cell === null ? texts.null : cellText(cell)
  const forms = formsOf(cell, column.type, text)
  const [form, setForm] = useState<Form>(forms[0] ?? 'raw')
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="value-dialog" aria-labelledby="value-title" onClose={onClose}>
      <header>
        <h2 id="value-title">
          <Marked text={texts.value(column.name)} />
        </h2>
        <p class="muted">
          {texts.place(row, column.type)} · {texts.size(text.length)}
        </p>
      </header>
      {isCut(cell) && <p class="value-cut">{texts.cut(cell.bytes)}</p>}
      <div class="value-forms" role="group">
        {forms.map((name) => (
          <button key={name} type="button" aria-pressed={name === form} onClick={() => setForm(name)}>
            {texts[name]}
          </button>
        ))}
      </div>
      <div class="value-body" tabIndex={0} role="region" aria-label={texts[form]}>
        <Body form={form} cell={cell} text={text} />
      </div>
      <footer>
        <button type="button" onClick={() => void navigator.clipboard.writeText(text)}>
          {texts.copyValue}
        </button>
        <button type="button" class="main" onClick={() => dialog.current?.close()}>
          {texts.close}
        </button>
      </footer>
    </dialog>
  )
}

function formsOf(cell: Cell, type: string, text: string): Form[] {
  const value = treeOf(cell, text)
  const isTree = typeof value === 'object' && value !== null
  const forms: Form[] = isTree || isJsonType(type) ? ['tree', 'raw'] : ['raw']
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
        <Marked text={inside?.text ?? text} lines />
      </pre>
    </>
  )
}
