/** Ticks and names of times, all in UTC, as the times of a result stand. */

const DAY = 86_400

/** Distances of ticks that people expect, in seconds, and in months beyond those. */
const STEPS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200, DAY, 2 * DAY, 7 * DAY, 14 * DAY]
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12_000, 60_000]

/** Times for at most `most` ticks: the points themselves where they are few, else round times. */
export function timeTicks(points: readonly number[], low: number, high: number, most: number): number[] {
  const inside = [...new Set(points.filter((at) => at >= low && at <= high))]
  if (inside.length <= most) return inside
  const step = STEPS.find((seconds) => (high - low) / seconds <= most)
  const months = MONTHS.find((count) => (high - low) / (count * 30 * DAY) <= most) ?? 60_000
  const first = step === undefined ? (new Date(low * 1000).getUTCFullYear() - 1970) * 12 : Math.ceil(low / step)
  const ticks: number[] = []
  for (let count = 0; ; count += 1) {
    const at = step === undefined ? Date.UTC(1970, first + count * months) / 1000 : (first + count) * step
    // Also beyond the last date that there is.
    if (!(at <= high)) return ticks
    if (at >= low) ticks.push(at)
  }
}

/** `2026-01-31 12:30:05`, without a part that is zero at the end. */
export const timeText = (at: number): string =>
  new Date(at * 1000).toISOString().replace('T', ' ').replace(/Z$/, '').replace(/\.000$/, '').replace(/ 00:00:00$/, '')

/** The name of a tick, as long as the ticks need it: `2026-01` where all are the first of a month. */
export function tickOf(at: number, all: readonly number[]): string {
  const texts = all.map(timeText)
  const text = timeText(at)
  if (texts.every((one) => /-01-01$/.test(one))) return text.slice(0, -6)
  if (texts.every((one) => /-01$/.test(one))) return text.slice(0, -3)
  return texts.every((one) => /^\S+$|:00$/.test(one)) ? text.replace(/:00$/, '') : text
}
