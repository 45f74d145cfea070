import type { Activity, Finished, Running } from '../../api/activity'

/** A running statement as it is listed. */
export interface Line {
  statement: Running
  /** Time of this browser at which the server has told its milliseconds. */
  at: number
  /** Its end, if it has ended while the list was held in place; `unknown` if its end is not told. */
  ended: Finished | 'unknown' | null
}

/** Both lists as they are shown. */
export interface Board {
  lines: readonly Line[]
  finished: readonly Finished[]
  /** Running statements that wait until the lists may move. */
  waiting: number
}

/**
 * Brings the lists up to date. While they are in use, no line moves: those that are shown are brought up
 * to date in their places, the ended ones as well, and new ones wait.
 */
export function upToDate(before: Board | null, { running, finished }: Activity, at: number, inUse: boolean): Board {
  if (!before || !inUse) {
    const lines = [...running].sort(byAge).map((statement) => ({ statement, at, ended: null }))
    return { lines, finished, waiting: 0 }
  }
  const now = new Map(running.map((statement) => [statement.id, statement]))
  const ends = new Map(finished.map((statement) => [statement.id, statement]))
  const lines = before.lines.map((line): Line => {
    const { id } = line.statement
    const statement = now.get(id)
    if (statement) return { statement, at, ended: null }
    return line.ended && line.ended !== 'unknown' ? line : { ...line, ended: ends.get(id) ?? 'unknown' }
  })
  const shown = new Set(lines.map(({ statement }) => statement.id))
  return { lines, finished: before.finished, waiting: running.filter(({ id }) => !shown.has(id)).length }
}

// The oldest first: new statements come at the end, where they move no other.
const byAge = (a: Running, b: Running): number => a.started_at.localeCompare(b.started_at) || a.id.localeCompare(b.id)

/** Milliseconds that a statement has run, at a time of this browser. */
export function millisecondsOf({ statement, at, ended }: Line, now: number): number {
  if (ended === 'unknown') return statement.ms
  return ended ? ended.ms : statement.ms + Math.max(0, now - at)
}
