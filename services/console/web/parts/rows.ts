import { Rows as GridRows } from './grid/rows'

/** A result as a table. */
export interface Rows {
  columns: string[]
  rows: string[][]
}

interface Structured {
  columns?: unknown
  rows?: unknown
  results?: unknown
}

/** Finds a table in the structure of a result: columns with rows, or a list of objects. */
export function rowsOfStructure(structure: unknown): Rows | null {
  if (!structure || typeof structure !== 'object') return null
  const { columns, rows } = structure as Structured
  if (Array.isArray(columns) && Array.isArray(rows)) {
    return {
      columns: columns.map((column) => String((column as { name?: string })?.name ?? column)),
      rows: rows.map((row) => (Array.isArray(row) ? row : Object.values(row ?? {})).map(shown)),
    }
  }
  const list = Array.isArray(structure) ? structure : Object.values(structure).find((value) => Array.isArray(value) && value.length > 0 && isObject(value[0]))
  if (!Array.isArray(list) || !list.every(isObject)) return null
  const names = [...new Set(list.flatMap((row) => Object.keys(row)))]
  return { columns: names, rows: list.map((row) => names.map((name) => shown(row[name]))) }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

const shown = (value: unknown): string => (value === null || value === undefined ? 'NULL' : typeof value === 'object' ? JSON.stringify(value) : String(value))

/**
 * Finds a table in a text: the lines below `Results (…):`, else the largest block of lines with tabulators in which
 * all lines have as many columns as its first.
 */
export function rowsOfText(text: string): Rows | null {
  const lines = text.split('\n')
  const marked = lines.findIndex((line) => /^Results \(.*\):$/.test(line))
  if (marked >= 0) {
    const end = lines.indexOf('', marked)
    const [columns, ...rows] = lines.slice(marked + 1, end < 0 ? undefined : end).map((line) => line.split('\t'))
    return columns ? { columns, rows } : null
  }
  let best: string[][] = []
  let block: string[][] = []
  const end = () => {
    if (block.length > best.length) best = block
    block = []
  }
  for (const line of lines) {
    const cells = line.split('\t')
    if (cells.length < 2) end()
    else {
      if (block[0] && block[0].length !== cells.length) end()
      block.push(cells)
    }
  }
  end()
  const [columns, ...rows] = best
  return columns ? { columns, rows } : null
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i
const TIME = /^\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?$/

/** Rows for a chart. Their types are those that all values of a column have. */
export function typedRows({ columns, rows }: Rows): GridRows {
  const types = columns.map((_, at) => {
    const known = rows.map((row) => row[at] ?? 'NULL').filter((cell) => cell !== 'NULL')
    const all = (pattern: RegExp) => known.length > 0 && known.every((cell) => pattern.test(cell))
    return all(NUMBER) ? 'numeric' : all(TIME) ? 'timestamp' : 'text'
  })
  return new GridRows(
    columns.map((name, at) => ({ name, type: types[at] ?? 'text' })),
    rows.map((row) => row.map((cell) => (cell === 'NULL' ? null : cell))),
  )
}

/** Estimates how many tokens a model reads a text as: about four characters each. */
export const tokensIn = (text: string): number => Math.max(1, Math.ceil(text.length / 4))
