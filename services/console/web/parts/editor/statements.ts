/** Finds the statements of a text. */
import { tokens, type Token } from './tokens'

export interface Statement {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** Cuts a text at the semicolons that end a statement. Comments alone are no statement. */
export function statements(sql: string): Statement[] {
  const found: Statement[] = []
  let current: Token[] = []
  let depth = 0
  const end = (): void => {
    const [first] = current
    const last = current.at(-1)
    if (first && last && current.some(({ kind }) => kind !== 'comment')) {
      found.push({ from: first.from, to: last.to, text: sql.slice(first.from, last.to) })
    }
    current = []
    depth = 0
  }
  const all = tokens(sql)
  all.forEach((token, index) => {
    if (token.text === ';' && token.kind === 'sign' && depth === 0) return end()
    depth = Math.max(0, depth + change(all, index))
    current.push(token)
  })
  end()
  return found
}

/** The body of a function between BEGIN ATOMIC and END holds semicolons of its own. */
function change(all: readonly Token[], index: number): number {
  const token = all[index] as Token
  if (token.kind !== 'word') return 0
  const word = token.text.toUpperCase()
  if (word === 'BEGIN' && all[index + 1]?.text.toUpperCase() === 'ATOMIC') return 1
  const isOpen = word === 'CASE' && hasAtomic(all, index)
  if (isOpen) return 1
  return word === 'END' ? -1 : 0
}

function hasAtomic(all: readonly Token[], index: number): boolean {
  for (let at = index; at >= 0; at -= 1) {
    if (all[at]?.text.toUpperCase() === 'ATOMIC') return true
  }
  return false
}

/** The statement at a position: the one around it, else the one before on the same line, else the next. */
export function statementAt(sql: string, position: number): Statement | null {
  const all = statements(sql)
  const around = all.find(({ from, to }) => from <= position && position <= to)
  if (around) return around
  const before = all.findLast(({ to }) => to <= position)
  if (before && !sql.slice(before.to, position).includes('\n')) return before
  return all.find(({ from }) => from >= position) ?? before ?? null
}
