import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../parts/button'
import { Foreign } from '../../parts/foreign'
import { tools as text } from '../../text/tools'
import type { Ask } from './exchanges'
import { collect, type Draft, draftOf, type Schema } from './schema'
import { SchemaForm } from './schema-form'

/** Answer to one thing that a server asks. */
export type Reply = { action: 'accept'; content: Record<string, unknown> } | { action: 'decline' | 'cancel' }

/** Questions of the server during a call. Its buttons continue the call. */
export function Elicitation({ asks, onReply }: { asks: Ask[]; onReply: (replies: Record<string, Reply>) => void }) {
  const [drafts, setDrafts] = useState<Record<string, Draft>>(() => Object.fromEntries(asks.map(({ key, schema }) => [key, draftOf(schema as Schema, undefined)])))
  const [errors, setErrors] = useState<Record<string, Record<string, string>>>({})
  const group = useRef<HTMLElement>(null)
  useEffect(() => group.current?.querySelector<HTMLElement>('[data-autofocus]')?.focus(), [])
  const same = (reply: Reply) => onReply(Object.fromEntries(asks.map(({ key }) => [key, reply])))
  const accept = () => {
    const found = asks.map(({ key, schema }) => [key, collect(schema as Schema, drafts[key], text.wrong)] as const)
    const wrong = Object.fromEntries(found.map(([key, collected]) => [key, collected.errors]))
    setErrors(wrong)
    if (found.some(([, collected]) => Object.keys(collected.errors).length)) return
    onReply(Object.fromEntries(found.map(([key, { value }]) => [key, { action: 'accept', content: value as Record<string, unknown> }])))
  }
  return (
    <section ref={group} class="elicitation" aria-label={text.asks} role="group">
      <div>
        <h3>{text.asks}</h3>
        <p class="muted">{text.asksText}</p>
      </div>
      {asks.map(({ key, message, schema }) => (
        <div key={key} class="elicitation-ask">
          <p class="elicitation-message">
            <Foreign text={message} />
          </p>
          <SchemaForm schema={schema as Schema} draft={drafts[key]} errors={errors[key] ?? {}} onChange={(draft) => setDrafts({ ...drafts, [key]: draft })} />
        </div>
      ))}
      <div class="button-row">
        <Button autofocus onClick={() => same({ action: 'decline' })}>
          {text.decline}
        </Button>
        <Button onClick={accept}>{text.accept}</Button>
        <Button kind="quiet" onClick={() => same({ action: 'cancel' })}>
          {text.cancelAsk}
        </Button>
      </div>
    </section>
  )
}
