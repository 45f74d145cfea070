/** Values of cells as the server sends them, and their texts. */

/** A cell above the limit of the server: its beginning and the size of the whole. */
export interface CutCell {
  readonly cut: string
  readonly bytes: number
}

export type Cell = string | number | boolean | null | CutCell | object

/** A column of a result; `table` and `column` say where its values come from. */
export interface Column {
  readonly name: string
  readonly type: string
  readonly table?: string | null
  readonly column?: string | null
}

const NUMERIC =
  /^(?:int2|int4|int8|smallint|integer|bigint|numeric|decimal|real|double precision|float4|float8|money|oid|xid8?|cid)\b(?!.*\[\])/
const TIME = /^(?:date|time|timestamp|timestamptz|timetz)\b(?!.*\[\])/

export function isNumericType(type: string): boolean {
  return NUMERIC.test(type)
}

export function isTimeType(type: string): boolean {
  return TIME.test(type)
}

export function isJsonType(type: string): boolean {
  return type === 'json' || type === 'jsonb'
}

export function isCut(cell: Cell): cell is CutCell {
  if (typeof cell !== 'object' || cell === null) return false
  const { cut, bytes } = cell as Partial<CutCell>
  return typeof cut === 'string' && typeof bytes === 'number'
}

/** The text of a cell as it is copied and searched; NULL has none. */
export function cellText(cell: Cell): string {
  if (typeof cell === 'string') return cell
  if (cell === null) return ''
  if (typeof cell === 'object') return isCut(cell) ? cell.cut : JSON.stringify(cell)
  return String(cell)
}

/** Characters of a cell that are painted; the viewer shows the rest. */
export const PAINTED_CHARACTERS = 300

/** Reports cells that have more than their row shows: long, of several lines, cut, or structured. */
export function isFolded(cell: Cell, type: string): boolean {
  if (cell === null) return false
  if (typeof cell === 'object' || isJsonType(type)) return true
  if (typeof cell !== 'string') return false
  return cell.length > PAINTED_CHARACTERS || /[\n\r]/.test(cell)
}

/** The number of a cell, or NaN. Texts count if PostgreSQL sent digits that JSON cannot hold. */
export function cellNumber(cell: Cell): number {
  if (typeof cell === 'number') return cell
  if (typeof cell !== 'string' || cell.trim() === '') return Number.NaN
  return Number(cell.startsWith('$') ? cell.slice(1).replaceAll(',', '') : cell)
}
