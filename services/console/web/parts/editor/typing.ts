/** Typing over a selection. */
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'

/**
 * Replaces a selection by what is typed.
 *
 * Left to itself Chromium keeps the look of the replaced text in an inline style, which the policy of the page
 * refuses and reports.
 */
export const typing: Extension = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main } = view.state.selection
    const { data, inputType, isComposing } = event
    if (inputType !== 'insertText' || data === null || main.empty || isComposing || view.composing)
      return false
    const insert = () =>
      view.state.update(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true })
    const isHandled = view.state
      .facet(EditorView.inputHandler)
      .some((handle) => handle(view, main.from, main.to, data, insert))
    if (!isHandled) view.dispatch(insert())
    event.preventDefault()
    return true
  },
})
