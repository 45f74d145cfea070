import { useState } from 'preact/hooks'
import { TextField } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { addressOf, place } from '../../shell/router'
import { tools as text } from '../../text/tools'
import type { Item, Kind } from './catalogue'

const KINDS: Kind[] = ['tool', 'prompt', 'template', 'resource']

/** Names an item in the address. */
export const idOf = ({ kind, name }: Item): string => `${kind}/${name}`

/** All that can be called, by kind, with a filter over names and descriptions. */
export function ItemList({ items, current, onChoose }: { items: Item[]; current: string; onChoose?: () => void }) {
  const [words, setWords] = useState('')
  const wanted = words.trim().toLowerCase()
  const found = items.filter((item) => `${item.name} ${item.title} ${item.description}`.toLowerCase().includes(wanted))
  return (
    <div class="item-list">
      <TextField label={text.filter} quiet type="search" placeholder={text.filter} value={words} onText={setWords} autocomplete="off" />
      {found.length === 0 && <p class="muted item-none">{items.length ? text.noMatch : text.nothing}</p>}
      {KINDS.map((kind) => {
        const own = found.filter((item) => item.kind === kind)
        if (!own.length) return null
        return (
          <section key={kind}>
            <h3>
              {text.kinds[kind]} <span class="muted">{own.length}</span>
            </h3>
            <ul>
              {own.map((item) => (
                <li key={idOf(item)}>
                  <a
                    href={addressOf(place.value, { query: { open: idOf(item) } })}
                    class="item-link"
                    {...(idOf(item) === current && { 'aria-current': 'true' })}
                    onClick={onChoose}
                  >
                    <Foreign text={item.name} />
                  </a>
                </li>
              ))}
            </ul>
          </section>
        )
      })}
    </div>
  )
}
