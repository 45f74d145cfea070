import {
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { PostgreSQL } from '@codemirror/lang-sql'
import { bracketMatching, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { EditorState, Prec, type Extension } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
} from '@codemirror/view'
import { useEffect, useRef } from 'preact/hooks'
import { editor as texts } from '../../text/editor'
import type { Catalogue } from '../../api/schema'
import { completion } from './completion'
import { decorations, markFailure } from './decorations'
import { highlights, theme } from './look'
import { statementAt, statements, type Statement } from './statements'
import { typing } from './typing'

/** An editor that is on the screen. */
export interface EditorHandle {
  /** The statements to run: those of the selection, else the one under the cursor. */
  toRun(): readonly Statement[]
  text(): string
  setText(text: string): void
  insert(text: string): void
  /** Marks a position of the text as the place of an error; null takes the mark away. */
  markFailure(position: number | null): void
  focus(): void
}

interface Props {
  /** Returns the text to begin with; later changes come from the person or the handle. */
  readonly text: () => string
  readonly catalogue: () => Catalogue | null
  readonly onChange: (text: string) => void
  readonly onRun: () => void
  readonly onReady: (handle: EditorHandle) => void
}

/** An editor for SQL. It lives in a shadow root, where its style sheets need no exception in the policy. */
export function Editor(props: Props) {
  const host = useRef<HTMLDivElement>(null)
  const latest = useRef(props)
  latest.current = props
  useEffect(() => {
    const node = host.current
    if (!node) return
    const root = node.shadowRoot ?? node.attachShadow({ mode: 'open' })
    const state = EditorState.create({
      doc: latest.current.text(),
      extensions: extensions(() => latest.current),
    })
    const view = new EditorView({ state, root, parent: root })
    latest.current.onReady(handleOf(view))
    return () => view.destroy()
  }, [])
  return (
    <div class="editor">
      <div class="editor-host" ref={host} />
      <p class="editor-hint" aria-hidden="true">
        {texts.leave}
      </p>
    </div>
  )
}

function extensions(props: () => Props): Extension {
  const run = (view: EditorView): boolean => {
    closeCompletion(view)
    props().onRun()
    return true
  }
  return [
    Prec.highest(keymap.of([{ key: 'Mod-Enter', run }])),
    keymap.of([
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...historyKeymap,
      ...defaultKeymap,
      indentWithTab,
    ]),
    lineNumbers(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    indentUnit.of('  '),
    PostgreSQL.language,
    syntaxHighlighting(highlights),
    theme,
    decorations,
    typing,
    placeholder(texts.placeholder),
    completion(() => props().catalogue()),
    EditorView.contentAttributes.of({
      'aria-label': texts.label,
      'aria-description': texts.leave,
      tabindex: '0',
    }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) props().onChange(update.state.doc.toString())
    }),
  ]
}

function handleOf(view: EditorView): EditorHandle {
  const replace = (from: number, to: number, insert: string): void => {
    view.dispatch({
      changes: { from, to, insert },
      selection: { anchor: from + insert.length },
      scrollIntoView: true,
    })
  }
  return {
    toRun: () => toRun(view.state),
    text: () => view.state.doc.toString(),
    setText: (text) => replace(0, view.state.doc.length, text),
    insert: (text) => replace(view.state.selection.main.from, view.state.selection.main.to, text),
    markFailure: (position) => {
      view.dispatch({ effects: markFailure.of(position) })
      if (position !== null)
        view.dispatch({ effects: EditorView.scrollIntoView(Math.min(position, view.state.doc.length)) })
    },
    focus: () => view.focus(),
  }
}

function toRun(state: EditorState): readonly Statement[] {
  const { from, to, empty, head } = state.selection.main
  const text = state.doc.toString()
  if (empty) {
    const found = statementAt(text, head)
    return found ? [found] : []
  }
  return statements(text.slice(from, to)).map((found) => ({
    ...found,
    from: found.from + from,
    to: found.to + from,
  }))
}
