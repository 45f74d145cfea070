import { effect, useComputed, useSignal, useSignalEffect } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { itemOf, type LibraryItem } from '../../api/library'
import { catalogueOf, forgetCatalogues } from '../../api/schema'
import { Dialog } from '../../parts/dialog'
import { Editor, type EditorHandle } from '../../parts/editor/editor'
import { Splitter } from '../../parts/splitter'
import { toast } from '../../parts/toast'
import { isCommand } from '../../shell/keys'
import { database, go, place, replace } from '../../shell/router'
import { available, isIn, session } from '../../shell/session'
import { library } from '../../text/library'
import { sql as texts } from '../../text/sql'
import { LibraryQuestions } from '../library/questions'
import { useTableCommands } from '../schema/commands'
import type { Sheet } from './sheet'
import { Questions } from './questions'
import { ResultPane } from './result-pane'
import { openItem, save } from './saving'
import { SheetTabs } from './sheet-tabs'
import { SidePanel } from './side-panel'
import { Toolbar } from './toolbar'
import { Work, type Manner } from './work'

/** Work of the person who is signed in; another person gets another one. */
let kept: { work: Work; ready: Promise<void> } | null = null

function workOf(person: string): { work: Work; ready: Promise<void> } {
  if (kept?.work.person !== person) {
    forget()
    const work = new Work(person)
    kept = { work, ready: work.restore() }
  }
  return kept
}

function forget(): void {
  kept?.work.end()
  kept = null
  forgetCatalogues()
}

// Nothing of a person stays in the page after signing out.
effect(() => {
  if (!isIn(session.value)) forget()
})

/** Writes, runs and looks through statements. */
export default function Sql() {
  useTableCommands()
  const caller = session.value
  const person = caller && 'kind' in caller ? `${caller.kind}-${caller.user ?? ''}` : 'unknown'
  const { work, ready } = workOf(person)
  useEffect(() => {
    // A text behind `#` fills the editor. It never runs by itself.
    void ready.then(() => {
      const { hash } = place.peek()
      if (hash === '') return
      work.open(hash)
      replace({ hash: '' })
    })
  }, [work, place.value.hash])
  const saved = place.value.query.get('saved')
  useEffect(() => {
    if (!saved) return
    replace({ query: { saved: null } })
    void ready.then(() => openById(work, saved))
  }, [work, saved])
  return <Screen work={work} key={person} />
}

const open = (work: Work, item: LibraryItem): void =>
  openItem(work, item, (available.peek() ?? []).map(({ name }) => name), (name) => go({ query: { db: name } }))

async function openById(work: Work, id: string): Promise<void> {
  try {
    const item = await itemOf('query', id)
    if (item) open(work, item)
    else toast(library.unknown, 'danger')
  } catch (problem) {
    toast((problem as Error).message, 'danger')
  }
}

type Shown = EditorHandle & { readonly sheet: Sheet }

/** Keeps an editor in step with the tab that it shows. */
function useEditor(work: Work) {
  const editor = useRef<Shown | null>(null)
  /** The editor, if it shows the current tab: right after a change of tabs it still shows the one before. */
  const shown = (): EditorHandle | null =>
    editor.current?.sheet === work.current.value ? editor.current : null
  useSignalEffect(() => {
    const mark = work.current.value?.mark.value ?? null
    shown()?.markFailure(mark)
  })
  useSignalEffect(() => {
    const { value: current } = work.current
    if (current && current.revision.value > 0) shown()?.setText(current.text.peek())
  })
  return editor
}

function Screen({ work }: { readonly work: Work }) {
  const editor = useEditor(work)
  const sideOpen = useSignal(false)
  const sheet = work.current.value
  useEffect(() => {
    // Wherever the focus is: the browser would save the page, or search for something.
    const onKey = (event: KeyboardEvent) => {
      const saves = isCommand(event, 's')
      if (!saves && !isCommand(event, 'e')) return
      event.preventDefault()
      const { value: current } = work.current
      if (!current || document.querySelector('dialog[open]')) return
      if (saves) void save(work, current)
      else editor.current?.focus()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [work])
  if (!sheet) return <div class="screen sql" />
  const run = (manner: Manner = 'rows'): void => {
    const statements = editor.current?.toRun() ?? []
    if (statements.length === 0) toast(texts.nothingToRun, 'danger')
    else void work.run(sheet, statements, database.value, manner)
  }
  const preview = (): void => {
    const statements = editor.current?.toRun() ?? []
    if (statements.length === 0) toast(texts.nothingToRun, 'danger')
    else void work.preview(statements, database.value)
  }
  const hasPreviews = available.value?.some((it) => it.name === database.value && it.preview) ?? false
  const side = <Side work={work} editor={editor} onDone={() => (sideOpen.value = false)} />
  return (
    <div
      class="screen sql"
      onKeyDown={(event) => {
        if (isCommand(event, 'enter') && !event.defaultPrevented) run()
        if (event.key === 'Escape' && sheet.busy.value && !event.defaultPrevented) sheet.stop()
      }}
    >
      <h1 class="spoken">{texts.title}</h1>
      <div class="sql-side" data-region>
        {side}
      </div>
      <Splitter name="sql-side" label={texts.sideWidth} initial={240} smallest={160} largest={480} />
      <div class="sql-work">
        <div class="sql-head" data-region>
          <SheetTabs work={work} />
          <Toolbar
            work={work}
            sheet={sheet}
            onRun={run}
            onPreview={hasPreviews ? preview : null}
            onSide={() => (sideOpen.value = true)}
            text={() => editor.current?.text() ?? ''}
          />
        </div>
        <SheetEditor key={sheet.id} work={work} sheet={sheet} editor={editor} onRun={run} />
        <Splitter
          name="sql-editor"
          label={texts.editorHeight}
          axis="horizontal"
          initial={220}
          smallest={80}
          largest={900}
        />
        <ResultPane work={work} sheet={sheet} onShow={() => editor.current?.markFailure(sheet.mark.peek())} />
      </div>
      {sideOpen.value && (
        <Dialog title={texts.side} side="start" onClose={() => (sideOpen.value = false)}>
          {side}
        </Dialog>
      )}
      <Questions work={work} />
      <LibraryQuestions />
    </div>
  )
}

interface SideProps {
  readonly work: Work
  readonly editor: RefObject<Shown | null>
  readonly onDone: () => void
}

function Side({ work, editor, onDone }: SideProps) {
  return (
    <SidePanel
      work={work}
      onText={(text) => {
        onDone()
        work.open(text)
        editor.current?.focus()
      }}
      onOpen={(item) => {
        onDone()
        open(work, item)
        editor.current?.focus()
      }}
      onInsert={(name) => {
        onDone()
        editor.current?.insert(name)
        editor.current?.focus()
      }}
    />
  )
}

interface SheetEditorProps {
  readonly work: Work
  readonly sheet: Sheet
  readonly editor: RefObject<Shown | null>
  readonly onRun: () => void
}

/** The editor of one tab. */
function SheetEditor({ work, sheet, editor, onRun }: SheetEditorProps) {
  const catalogue = useComputed(() => catalogueOf(database.value).value.catalogue)
  return (
    <section class="sql-editor" aria-label={texts.editor} data-region id="sql-sheet">
      <Editor
        text={() => sheet.text.peek()}
        catalogue={() => catalogue.peek()}
        onChange={(text) => {
          sheet.text.value = text
          work.changed(sheet)
        }}
        onRun={() => onRun()}
        onReady={(handle) => {
          editor.current = { ...handle, sheet }
          handle.markFailure(sheet.mark.peek())
        }}
      />
    </section>
  )
}
