/** Finds the tables that a statement names, so that their columns can be offered. */
import { isName, nameOf, type Token } from './tokens'

/** A table of a statement under the name by which its columns are reached. */
export interface Source {
  readonly alias: string
  readonly schema: string | null
  readonly table: string
  /** Beginning of its name, so that a condition can prefer the tables before it. */
  readonly from: number
}

const BEFORE_TABLE = new Set(['from', 'join', 'update', 'into', 'table', 'using', 'only'])
const NO_ALIAS = new Set(
  (
    'on using where join inner left right full cross natural lateral group order having limit offset union except ' +
    'intersect window set values returning fetch for as tablesample select from when do with default'
  ).split(' '),
)

/** The tables after FROM, JOIN, UPDATE, INTO and USING, with those after their commas. */
export function sources(all: readonly Token[]): Source[] {
  const significant = all.filter(({ kind }) => kind !== 'comment')
  const found: Source[] = []
  significant.forEach((token, index) => {
    if (token.kind !== 'word' || !BEFORE_TABLE.has(token.text.toLowerCase())) return
    let at: number | null = index + 1
    while (at !== null) at = readSource(significant, at, found)
  })
  return found
}

/** Reads one table and its alias. Returns where the next of a list begins, or null. */
function readSource(all: readonly Token[], start: number, found: Source[]): number | null {
  let at = start
  while (['only', 'lateral'].includes(all[at]?.text.toLowerCase() ?? '')) at += 1
  const first = all[at]
  if (!first || !isName(first) || (first.kind === 'word' && NO_ALIAS.has(first.text.toLowerCase())))
    return null
  let schema: string | null = null
  let table = nameOf(first)
  at += 1
  if (all[at]?.text === '.') {
    const second = all[at + 1]
    if (!second || !isName(second)) return null
    ;[schema, table] = [table, nameOf(second)]
    at += 2
  }
  if (all[at]?.text === '(') return null
  if (all[at]?.text.toLowerCase() === 'as') at += 1
  const name = all[at]
  const isAlias = name && isName(name) && !(name.kind === 'word' && NO_ALIAS.has(name.text.toLowerCase()))
  found.push({ alias: isAlias ? nameOf(name) : table, schema, table, from: first.from })
  if (isAlias) at += 1
  return all[at]?.text === ',' ? at + 1 : null
}

/** The names that WITH gives to queries. */
export function withNames(all: readonly Token[]): string[] {
  const significant = all.filter(({ kind }) => kind !== 'comment')
  if (!significant.some(({ text }) => text.toLowerCase() === 'with')) return []
  const names: string[] = []
  significant.forEach((token, index) => {
    const [next, after] = [significant[index + 1], significant[index + 2]]
    const before = significant[index - 1]?.text.toLowerCase()
    const begins = before === 'with' || before === 'recursive' || before === ','
    const isQuery =
      next?.text.toLowerCase() === 'as' &&
      ['(', 'materialized', 'not'].includes(after?.text.toLowerCase() ?? '')
    const hasColumns = next?.text === '(' && before !== ','
    if (begins && isName(token) && token.text.toLowerCase() !== 'recursive' && (isQuery || hasColumns))
      names.push(nameOf(token))
  })
  return names
}
