/** The active cell of a grid and the rectangle that is selected with it. */

export interface Place {
  readonly row: number
  readonly column: number
}

/** `HEADER` is the row of the names. */
export const HEADER = -1

/** A rectangle from its anchor to the active cell. Rows and columns count as they are shown. */
export interface Selection {
  readonly anchor: Place
  readonly active: Place
}

export interface Rectangle {
  readonly top: number
  readonly bottom: number
  readonly left: number
  readonly right: number
}

export function at(row: number, column: number): Selection {
  const place = { row, column }
  return { anchor: place, active: place }
}

export function rectangle({ anchor, active }: Selection): Rectangle {
  return {
    top: Math.min(anchor.row, active.row),
    bottom: Math.max(anchor.row, active.row),
    left: Math.min(anchor.column, active.column),
    right: Math.max(anchor.column, active.column),
  }
}

export function isSingle({ anchor, active }: Selection): boolean {
  return anchor.row === active.row && anchor.column === active.column
}

export interface Bounds {
  readonly rows: number
  readonly columns: number
  /** Rows that fit on the screen. */
  readonly page: number
}

export interface KeyPress {
  readonly key: string
  readonly shift: boolean
  readonly control: boolean
  /** Written from right to left: the arrows to the sides change places. */
  readonly mirrored?: boolean
}

/** Returns the selection after a key that moves, or null for other keys. */
export function moved(selection: Selection, press: KeyPress, bounds: Bounds): Selection | null {
  const active = destination(selection.active, press, bounds)
  if (!active) return null
  const extends_ = press.shift && selection.anchor.row !== HEADER
  const lowest = extends_ ? 0 : HEADER
  const place = {
    row: clamp(active.row, bounds.rows === 0 ? HEADER : lowest, bounds.rows - 1),
    column: clamp(active.column, 0, bounds.columns - 1),
  }
  return { anchor: extends_ ? selection.anchor : place, active: place }
}

/** Keeps a selection within a grid whose rows or columns became fewer. */
export function clamped(selection: Selection, { rows, columns }: Bounds): Selection {
  const inside = ({ row, column }: Place): Place => ({
    row: clamp(row, HEADER, rows - 1),
    column: clamp(column, 0, Math.max(0, columns - 1)),
  })
  return { anchor: inside(selection.anchor), active: inside(selection.active) }
}

export function everything({ rows, columns }: Bounds): Selection {
  return {
    anchor: { row: 0, column: 0 },
    active: { row: Math.max(0, rows - 1), column: Math.max(0, columns - 1) },
  }
}

function destination({ row, column }: Place, press: KeyPress, { rows, columns, page }: Bounds): Place | null {
  const side = press.mirrored ? -1 : 1
  switch (press.key) {
    case 'ArrowUp':
      // With Control to the first row; a second press goes on to the names.
      return { row: press.control && row > 0 ? 0 : row - 1, column }
    case 'ArrowDown':
      return { row: press.control ? rows - 1 : row + 1, column }
    case 'ArrowLeft':
      return { row, column: press.control ? (side > 0 ? 0 : columns - 1) : column - side }
    case 'ArrowRight':
      return { row, column: press.control ? (side > 0 ? columns - 1 : 0) : column + side }
    case 'Home':
      return { row: press.control ? 0 : row, column: 0 }
    case 'End':
      return { row: press.control ? rows - 1 : row, column: columns - 1 }
    case 'PageUp':
      return { row: Math.max(row - page, Math.min(row, 0)), column }
    case 'PageDown':
      return { row: row + page, column }
    default:
      return null
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value))
}
