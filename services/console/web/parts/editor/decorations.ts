/** Marks in the text: the place of an error, the statement that would run, and values to be asked for. */
import { StateEffect, StateField, type EditorState, type Extension } from '@codemirror/state'
import {
  Decoration,
  EditorView,
  MatchDecorator,
  ViewPlugin,
  type DecorationSet,
  type ViewUpdate,
} from '@codemirror/view'
import { statementAt } from './statements'
import { tokens } from './tokens'

/** Shows where a statement failed, or takes the mark away. */
export const markFailure = StateEffect.define<number | null>()

const failureMark = Decoration.mark({ class: 'cm-failure' })

const failure = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let next = marks.map(transaction.changes)
    for (const effect of transaction.effects) {
      if (effect.is(markFailure))
        next = effect.value === null ? Decoration.none : marked(transaction.state, effect.value)
    }
    return next
  },
  provide: (field) => EditorView.decorations.from(field),
})

/** Marks the word at a position; at the end of the text the last one. */
function marked(state: EditorState, position: number): DecorationSet {
  const text = state.doc.toString()
  const all = tokens(text)
  const token = all.find(({ to }) => to > position) ?? all.at(-1)
  if (!token) return Decoration.none
  return Decoration.set([failureMark.range(token.from, token.to)])
}

/** Texts above this size are not searched for the statement under the cursor at every move. */
const MAX_FOLLOWED = 100_000

const statementLine = Decoration.line({ class: 'cm-statement' })

const statement = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet

    constructor(view: EditorView) {
      this.decorations = statementLines(view.state)
    }

    update(update: ViewUpdate): void {
      if (update.docChanged || update.selectionSet) this.decorations = statementLines(update.state)
    }
  },
  { decorations: (plugin) => plugin.decorations },
)

function statementLines(state: EditorState): DecorationSet {
  if (state.doc.length > MAX_FOLLOWED || !state.selection.main.empty) return Decoration.none
  const found = statementAt(state.doc.toString(), state.selection.main.head)
  if (!found) return Decoration.none
  const [first, last] = [state.doc.lineAt(found.from).number, state.doc.lineAt(found.to).number]
  const lines = Array.from({ length: last - first + 1 }, (_, index) => state.doc.line(first + index).from)
  return Decoration.set(lines.map((from) => statementLine.range(from)))
}

const matcher = new MatchDecorator({
  regexp: /\{\{\s*[A-Za-z_]\w*\s*\}\}/g,
  decoration: Decoration.mark({ class: 'cm-value' }),
})

const values = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet

    constructor(view: EditorView) {
      this.decorations = matcher.createDeco(view)
    }

    update(update: ViewUpdate): void {
      this.decorations = matcher.updateDeco(update, this.decorations)
    }
  },
  { decorations: (plugin) => plugin.decorations },
)

export const decorations: Extension = [failure, statement, values]
