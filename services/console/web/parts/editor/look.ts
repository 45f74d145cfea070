/** The look of the editor. Its rules go into the shadow root as constructed style sheets. */
import { HighlightStyle } from '@codemirror/language'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

export const theme = EditorView.theme({
  '&': {
    blockSize: '100%',
    color: 'var(--ink)',
    backgroundColor: 'var(--sunken)',
    fontSize: 'var(--size-14)',
  },
  // The host draws the focus, above the numbers of the lines.
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--lapis)', paddingBlock: '8px' },
  '.cm-cursor': { borderInlineStartColor: 'var(--lapis)', borderInlineStartWidth: '2px' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--sunken)', border: 'none' },
  '.cm-activeLineGutter': { color: 'var(--ink)', backgroundColor: 'transparent' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'var(--selected)',
  },
  '.cm-matchingBracket': { outline: '1px solid var(--edge)', backgroundColor: 'transparent !important' },
  '.cm-placeholder': { color: 'var(--muted)' },
  '.cm-specialChar': { color: 'var(--danger)' },
  '.cm-statement': { boxShadow: 'inset 2px 0 0 var(--clay)' },
  '.cm-failure': {
    textDecoration: 'underline wavy var(--danger)',
    textUnderlineOffset: '3px',
    backgroundColor: 'color-mix(in srgb, var(--danger) 14%, transparent)',
  },
  '.cm-value': { color: 'var(--clay)', fontWeight: '600' },
  '.cm-tooltip': {
    color: 'var(--ink)',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--edge)',
    borderRadius: 'var(--corner)',
    boxShadow: 'var(--float)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '16em' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px', display: 'flex', gap: '16px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    color: 'var(--on-lapis)',
    backgroundColor: 'var(--lapis)',
  },
  '.cm-completionDetail': {
    marginInlineStart: 'auto',
    fontStyle: 'normal',
    color: 'var(--muted)',
    overflow: 'hidden',
    textOverflow: 'ellipsis',
  },
  'li[aria-selected] .cm-completionDetail': { color: 'inherit' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
  '.cm-completionInfo': { fontFamily: 'var(--text)', padding: '6px 10px', maxInlineSize: '28em' },
})

export const highlights = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--lapis)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--clay)' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--warn)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
])
