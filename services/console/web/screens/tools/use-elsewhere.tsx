import { useState } from 'preact/hooks'
import { Button } from '../../parts/button'
import { CodeText } from '../../parts/code-text'
import { Tabs } from '../../parts/tabs'
import { NewToken } from '../../shell/new-token'
import { isIn, session } from '../../shell/session'
import { tools as text } from '../../text/tools'
import type { Item } from './catalogue'
import { type Snippet, SNIPPETS, snippet } from './snippets'

/** The same call from programs, and configurations of clients. Only the token is missing in them; an administrator can make one. */
export function UseElsewhere({ item, values }: { item: Item; values: Record<string, unknown> }) {
  const [kind, setKind] = useState<Snippet>('curl')
  const [making, setMaking] = useState(false)
  const caller = session.value
  return (
    <details class="use-elsewhere">
      <summary>{text.use}</summary>
      <Tabs label={text.clients} tabs={SNIPPETS.map((name) => ({ name, title: name }))} current={kind} onChoose={(name) => setKind(name as Snippet)}>
        <CodeText text={snippet(kind, location.origin, item, values)} label={kind} />
        <div class="button-row tool-note">
          <p class="muted">{text.tokenNote}</p>
          {isIn(caller) && caller.admin && (
            <Button icon="key" onClick={() => setMaking(true)}>
              {text.makeToken}
            </Button>
          )}
        </div>
      </Tabs>
      {making && (
        <NewToken
          uses={SNIPPETS.map((name) => ({ name, text: (token) => snippet(name, location.origin, item, values, token) }))}
          firstUse={kind}
          onClose={() => setMaking(false)}
        />
      )}
    </details>
  )
}
