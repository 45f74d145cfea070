/** Ticks and names of times, all in UTC, as the times of a result stand. */

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Distances of ticks that people expect, in seconds. */
const STEPS = [1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY]

/** Months from which ticks are counted in months. */
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12_000, 60_000]
const MONTH = 30 * DAY

/** Times for at most `most` ticks: the points themselves where they are few, else round times. */
export function timeTicks(points: readonly number[], low: number, high: number, most: number): number[] {
  const inside = [...new Set(points.filter((at) => at >= low && at <= high))]
  if (inside.length <= most) return inside
  const step = STEPS.find((seconds) => (high - low) / seconds <= most)
  if (step !== undefined && step <= 14 * DAY) return between(low, high, step)
  const months = MONTHS.find((count) => (high - low) / (count * MONTH) <= most) ?? MONTHS.at(-1) ?? 1
  const ticks: number[] = []
  for (let month = (new Date(low * 1000).getUTCFullYear() - 1970) * 12; ; month += months) {
    const at = Date.UTC(1970, month) / 1000
    // Also beyond the last date that there is.
    if (!(at <= high)) return ticks
    if (at >= low) ticks.push(at)
  }
}

function between(low: number, high: number, step: number): number[] {
  const ticks: number[] = []
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at)
  return ticks
}

/** `2026-01-31 12:30:05`, without a part that is zero at the end. */
export function timeText(at: number): string {
  const text = new Date(at * 1000).toISOString().replace('T', ' ')
  return text.replace(/Z$/, '').replace(/\.000$/, '').replace(/ 00:00:00$/, '')
}

/** The name of a tick, as long as the ticks need it: `2026-01` where all are the first of a month. */
export function tickOf(at: number, all: readonly number[]): string {
  const texts = all.map(timeText)
  const text = timeText(at)
  if (texts.every((one) => /-01-01$/.test(one))) return text.slice(0, -6)
  if (texts.every((one) => /-01$/.test(one))) return text.slice(0, -3)
  return texts.every((one) => /^\S+$| \d\d:\d\d:00$/.test(one)) ? text.replace(/:00$/, '') : text
}
