import { useState } from 'preact/hooks'
import { number } from '../../text/format'
import { grid as texts } from '../../text/grid'
import { Foreign } from '../foreign'
import { ExactNumber } from './exact-json'

/** Members shown before a button asks for more. */
const SHOWN_MEMBERS = 100

interface BranchProps {
  readonly name: string | null
  readonly value: unknown
  readonly depth: number
}

/** A JSON value as a tree; the first two levels are open. */
export function JsonTree({ value }: { readonly value: unknown }) {
  return (
    <div class="json-tree">
      <Branch name={null} value={value} depth={0} />
    </div>
  )
}

function Branch({ name, value, depth }: BranchProps) {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) {
    return (
      <div class="json-leaf">
        <Name name={name} />
        <Leaf value={value} />
      </div>
    )
  }
  const members = Object.entries(value as Record<string, unknown>)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return (
    <details open={depth < 2}>
      <summary>
        <Name name={name} />
        <span class="json-count">{`${open}${number(members.length)}${close}`}</span>
      </summary>
      <Members members={members} depth={depth} />
    </details>
  )
}

function Members({ members, depth }: { readonly members: [string, unknown][]; readonly depth: number }) {
  const [shown, setShown] = useState(SHOWN_MEMBERS)
  const left = members.length - shown
  return (
    <div class="json-members">
      {members.slice(0, shown).map(([key, member]) => (
        <Branch key={key} name={key} value={member} depth={depth + 1} />
      ))}
      {left > 0 && (
        <button type="button" class="link" onClick={() => setShown(shown + SHOWN_MEMBERS * 5)}>
          {texts.more(left)}
        </button>
      )}
    </div>
  )
}

function Name({ name }: { readonly name: string | null }) {
  if (name === null) return null
  return (
    <span class="json-name">
      <Foreign text={name} />:{' '}
    </span>
  )
}

function Leaf({ value }: { readonly value: unknown }) {
  if (typeof value === 'string') {
    return (
      <span class="json-text">
        "<Foreign text={value} />"
      </span>
    )
  }
  return <span class="json-value">{value instanceof ExactNumber ? value.digits : String(value)}</span>
}
