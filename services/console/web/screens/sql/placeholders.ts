/** Values that a statement asks for: `{{name}}` is replaced by a literal before the statement runs. */
import { quoted } from '../../parts/grid/copy'
import { tokens } from '../../parts/editor/tokens'

/** The names in a statement, each once. Texts and comments ask for nothing. */
export function namesIn(sql: string): string[] {
  const names = tokens(sql).flatMap((token) => (token.kind === 'value' ? [nameOf(token.text)] : []))
  return [...new Set(names)]
}

const nameOf = (text: string): string => text.slice(2, -2).trim()

/** A statement with its values, and the way back to positions in the text of the person. */
export interface Filled {
  readonly sql: string
  original(position: number): number
}

/** Puts values into a statement as literals; what is absent is NULL. */
export function filled(sql: string, values: ReadonlyMap<string, string | null>): Filled {
  const pieces: { from: number; to: number; at: number; length: number }[] = []
  let result = ''
  let from = 0
  for (const token of tokens(sql)) {
    if (token.kind !== 'value') continue
    result += sql.slice(from, token.from)
    const value = values.get(nameOf(token.text))
    const literal = value === null || value === undefined ? 'NULL' : quoted(value)
    pieces.push({ from: token.from, to: token.to, at: result.length, length: literal.length })
    result += literal
    from = token.to
  }
  result += sql.slice(from)
  return { sql: result, original: (position) => original(pieces, position) }
}

function original(
  pieces: readonly { from: number; to: number; at: number; length: number }[],
  position: number,
): number {
  let moved = 0
  for (const { from, to, at, length } of pieces) {
    if (position < at) break
    if (position < at + length) return from
    moved = to - (at + length)
  }
  return position + moved
}

/** Turns a position of PostgreSQL, in characters from one, into an index of a text. */
export function indexOf(sql: string, position: number): number {
  let index = 0
  for (let left = position - 1; left > 0 && index < sql.length; left -= 1) {
    index += (sql.codePointAt(index) ?? 0) > 0xffff ? 2 : 1
  }
  return index
}
