/** Forms in which rows are copied and saved. */
import { cellText, isCut, isNumericType, type Cell, type Column } from './cell'
import type { Row } from './rows'

export type Form = 'tsv' | 'tsv-names' | 'csv' | 'json' | 'ndjson' | 'markdown' | 'in'

/** Columns and the rows cut to them. */
export interface Copied {
  readonly columns: readonly Column[]
  readonly rows: readonly Row[]
}

/** Writes rows in a form. `guard` puts an apostrophe before cells that spreadsheets take for formulas. */
export function written(copied: Copied, form: Form, guard = false): string {
  switch (form) {
    case 'tsv':
      return separated(copied, '\t', false, guard)
    case 'tsv-names':
      return separated(copied, '\t', true, guard)
    case 'csv':
      return separated(copied, ',', true, guard)
    case 'json':
      return JSON.stringify(objects(copied), null, 2)
    case 'ndjson':
      return objects(copied)
        .map((object) => `${JSON.stringify(object)}\n`)
        .join('')
    case 'markdown':
      return markdown(copied)
    case 'in':
      return inList(copied)
  }
}

/** RFC 4180 with another separator for TSV; a text that holds a separator, quote or line is quoted. */
function separated({ columns, rows }: Copied, separator: string, named: boolean, guard: boolean): string {
  const end = separator === ',' ? '\r\n' : '\n'
  const field = (cell: Cell): string => {
    if (cell === null) return ''
    let text = cellText(cell)
    if (guard && typeof cell !== 'number' && isFormula(text)) text = `'${text}`
    if (text === '' && separator === ',') return '""'
    const needsQuotes = text.includes(separator) || /["\r\n]/.test(text)
    return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text
  }
  const lines = rows.map((row) => row.map(field).join(separator))
  if (named) lines.unshift(columns.map((column) => field(column.name)).join(separator))
  return lines.join(end) + (separator === ',' && lines.length > 0 ? end : '')
}

/** Reports texts that a spreadsheet runs as a formula, as the server does; plain numbers are none. */
export function isFormula(text: string): boolean {
  return /^[\t\r\n]|^[\s\p{C}]*[=+\-@＝＋－＠﹦﹢﹣﹫]/u.test(text) && !/^ *[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)? *$/.test(text)
}

function objects({ columns, rows }: Copied): Record<string, Cell>[] {
  const names = distinct(columns.map((column) => column.name))
  return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, plain(row[index] ?? null)])))
}

/** Names that occur twice get a number, because an object has each name once. */
export function distinct(names: readonly string[]): string[] {
  const used = new Set<string>()
  return names.map((name) => {
    let unique = name
    for (let number = 2; used.has(unique); number += 1) unique = `${name}_${number}`
    used.add(unique)
    return unique
  })
}

function plain(cell: Cell): Cell {
  return isCut(cell) ? cell.cut : cell
}

function markdown({ columns, rows }: Copied): string {
  const escaped = (text: string): string => text.replace(/[\\|]/g, '\\$&').replace(/\r\n|\r|\n/g, ' ')
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |\n`
  const rule = columns.map((column) => (isNumericType(column.type) ? '--:' : '---'))
  const body = rows.map((row) => line(row.map((cell) => (cell === null ? 'NULL' : escaped(cellText(cell))))))
  return line(columns.map((column) => escaped(column.name))) + line(rule) + body.join('')
}

/** The distinct values as a list for `IN`; NULL is left out because it equals nothing. */
function inList({ columns, rows }: Copied): string {
  const values = new Set<string>()
  for (const row of rows) {
    row.forEach((cell, index) => {
      if (cell !== null) values.add(sqlLiteral(cell, columns[index]?.type ?? 'text'))
    })
  }
  return `IN (${[...values].join(', ') || 'NULL'})`
}

/** Writes a value as a literal of PostgreSQL. */
export function sqlLiteral(cell: Cell, type = 'text'): string {
  if (cell === null) return 'NULL'
  if (typeof cell === 'boolean') return String(cell)
  const text = cellText(cell)
  if (isNumericType(type) && /^-?\d+(?:\.\d+)?$/.test(text)) return text
  return quoted(text)
}

/** Quotes a text as a literal; a backslash needs the form `E''`, whatever the session has set. */
export function quoted(text: string): string {
  const doubled = text.replaceAll("'", "''")
  return text.includes('\\') ? `E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`
}
