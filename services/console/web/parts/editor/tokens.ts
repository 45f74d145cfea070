/** Reads SQL as PostgreSQL's lexer does: enough to find statements, names and parameters. */

export type TokenKind = 'word' | 'quoted' | 'text' | 'number' | 'sign' | 'comment' | 'value'

export interface Token {
  readonly kind: TokenKind
  readonly from: number
  readonly to: number
  readonly text: string
}

const SPACE = /\s+/y
const LINE_COMMENT = /--[^\n]*/y
const DOLLAR = /\$([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y
const NUMBER = /(?:\d[\d_]*(?:\.(?!\.)[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y
const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y
const VALUE = /\{\{\s*[A-Za-z_]\w*\s*\}\}/y

/** Cuts a text into tokens. What is not closed goes to the end. */
export function tokens(sql: string): Token[] {
  const found: Token[] = []
  let at = 0
  while (at < sql.length) {
    const space = match(SPACE, sql, at)
    if (space) {
      at += space.length
      continue
    }
    const [kind, to] = tokenAt(sql, at)
    found.push({ kind, from: at, to, text: sql.slice(at, to) })
    at = to
  }
  return found
}

function tokenAt(sql: string, at: number): [TokenKind, number] {
  const line = match(LINE_COMMENT, sql, at)
  if (line) return ['comment', at + line.length]
  if (sql.startsWith('/*', at)) return ['comment', endOfComment(sql, at)]
  const value = match(VALUE, sql, at)
  if (value) return ['value', at + value.length]
  if (sql[at] === "'") return ['text', endOfQuotes(sql, at, "'", false)]
  if (sql[at] === '"') return ['quoted', endOfQuotes(sql, at, '"', false)]
  const prefix = /[eEbBxXnN](?=')|[uU]&(?=['"])/y
  const marked = match(prefix, sql, at)
  if (marked) {
    const quote = sql[at + marked.length] as string
    const escapes = marked.toLowerCase() === 'e'
    return [quote === '"' ? 'quoted' : 'text', endOfQuotes(sql, at + marked.length, quote, escapes)]
  }
  const dollar = match(DOLLAR, sql, at)
  if (dollar) {
    const end = sql.indexOf(dollar, at + dollar.length)
    return ['text', end < 0 ? sql.length : end + dollar.length]
  }
  const number = match(NUMBER, sql, at)
  if (number) return ['number', at + number.length]
  const word = match(WORD, sql, at)
  if (word) return ['word', at + word.length]
  return ['sign', at + 1]
}

function match(expression: RegExp, sql: string, at: number): string | null {
  expression.lastIndex = at
  return expression.exec(sql)?.[0] ?? null
}

/** Comments nest in PostgreSQL. */
function endOfComment(sql: string, from: number): number {
  let depth = 0
  for (let at = from; at < sql.length; at += 1) {
    if (sql.startsWith('/*', at)) {
      depth += 1
      at += 1
    } else if (sql.startsWith('*/', at)) {
      depth -= 1
      at += 1
      if (depth === 0) return at + 1
    }
  }
  return sql.length
}

function endOfQuotes(sql: string, from: number, quote: string, escapes: boolean): number {
  for (let at = from + 1; at < sql.length; at += 1) {
    if (escapes && sql[at] === '\\') at += 1
    else if (sql[at] === quote) {
      if (sql[at + 1] !== quote) return at + 1
      at += 1
    }
  }
  return sql.length
}

/** A name as PostgreSQL stores it: folded to lower case unless quoted. */
export function nameOf({ kind, text }: Token): string {
  if (kind !== 'quoted') return text.toLowerCase()
  const inside = text.endsWith('"') && text.length > 1 ? text.slice(1, -1) : text.slice(1)
  return inside.replaceAll('""', '"')
}

/** Reports tokens that can be names. */
export function isName({ kind }: Token): boolean {
  return kind === 'word' || kind === 'quoted'
}
