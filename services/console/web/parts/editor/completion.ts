/** Connects the offers for a position with the editor. */
import { autocompletion, type Completion, type CompletionResult } from '@codemirror/autocomplete'
import type { Extension } from '@codemirror/state'
import { editor as texts } from '../../text/editor'
import type { Catalogue } from '../../api/schema'
import { offersAt, type Offer } from './offers'

/** Returns the completion of an editor. The catalogue may arrive or change later. */
export function completion(catalogue: () => Catalogue | null): Extension {
  return autocompletion({
    icons: false,
    maxRenderedOptions: 100,
    override: [
      (context): CompletionResult | null => {
        const before = context.matchBefore(/(?:"[^"]*|[\w$\u0080-\uffff]*)$/)
        const isTyping = before !== null && before.from < before.to
        const afterDot = context.state.sliceDoc(context.pos - 1, context.pos) === '.'
        const afterJoin = /\bon\s$/i.test(context.state.sliceDoc(Math.max(0, context.pos - 8), context.pos))
        if (!context.explicit && !isTyping && !afterDot && !afterJoin) return null
        const found = offersAt(context.state.doc.toString(), context.pos, catalogue(), texts.table)
        if (!found || found.list.length === 0) return null
        return {
          from: found.from,
          options: found.list.map(option),
          validFor: /^(?:"[^"]*"?|[\w$\u0080-\uffff]*)$/,
        }
      },
    ],
  })
}

function option({ label, kind, detail, comment, rank }: Offer): Completion {
  return {
    label,
    type: kind,
    boost: rank,
    ...(detail ? { detail } : kind === 'schema' || kind === 'join' ? { detail: texts[kind] } : {}),
    ...(comment ? { info: comment } : {}),
  }
}
