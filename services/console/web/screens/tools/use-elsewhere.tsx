import { useState } from 'preact/hooks'
import { CodeText } from '../../parts/code-text'
import { Tabs } from '../../parts/tabs'
import { tools as text } from '../../text/tools'
import type { Item } from './catalogue'
import { type Snippet, SNIPPETS, snippet } from './snippets'

/** The same call from programs, and configurations of clients. Only the token is missing in them. */
export function UseElsewhere({ item, values }: { item: Item; values: Record<string, unknown> }) {
  const [kind, setKind] = useState<Snippet>('curl')
  return (
    <details class="use-elsewhere">
      <summary>{text.use}</summary>
      <Tabs label={text.clients} tabs={SNIPPETS.map((name) => ({ name, title: name }))} current={kind} onChoose={(name) => setKind(name as Snippet)}>
        <CodeText text={snippet(kind, location.origin, item, values)} label={kind} />
        <p class="muted tool-note">{text.tokenNote}</p>
      </Tabs>
    </details>
  )
}
