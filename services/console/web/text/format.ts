// Numbers, times and plurals in the language of the texts. Data of a database is never formatted by these.
const LANGUAGE = 'en'

const numbers = new Intl.NumberFormat(LANGUAGE)
const compact = new Intl.NumberFormat(LANGUAGE, { notation: 'compact', maximumSignificantDigits: 3 })
const plurals = new Intl.PluralRules(LANGUAGE)
const times = new Intl.DateTimeFormat(LANGUAGE, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
// Numbers are the same in all English; the order of a date is not.
const dates = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
const relatives = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: 'always' })
const exactTimes = new Intl.DateTimeFormat(LANGUAGE, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
const unitNames = ['bytes', 'kB', 'MB', 'GB', 'TB']

/** `1,234` */
export const number = (value: number): string => numbers.format(value)

/** `2.1M`, for estimates. */
export const estimate = (value: number): string => compact.format(value)

/** `1 row`, `1,234 rows` */
export const count = (value: number, one: string, other: string): string =>
  `${numbers.format(value)} ${plurals.select(value) === 'one' ? one : other}`

/** `14:05` */
export const time = (value: Date | string | number): string => times.format(new Date(value))

/** `26 Nov 2026, 14:05` */
export const date = (value: Date | string | number): string => dates.format(new Date(value))

/** `14:05:09` */
export const exactTime = (value: Date | string | number): string => exactTimes.format(new Date(value))

const SPANS: readonly [Intl.RelativeTimeFormatUnit, number, number][] = [
  ['minute', 60_000, 60],
  ['hour', 3_600_000, 24],
  ['day', 86_400_000, 100],
  ['month', 2_629_800_000, 24],
  ['year', 31_557_600_000, Number.POSITIVE_INFINITY],
]

/** `in 12 days`, `2 hours ago`, `just now`: the nearest number of the largest unit that fits. */
export function relative(value: Date | string | number, now = Date.now()): string {
  const away = new Date(value).getTime() - now
  if (Math.abs(away) < 60_000) return away > 0 ? 'in less than a minute' : 'just now'
  for (const [unit, length, most] of SPANS) {
    if (Math.abs(away) < length * most) return relatives.format(Math.round(away / length), unit)
  }
  return date(value)
}

/** `12.4 s`, `2 min 5 s`, `3 h 4 min`: for times that count up, with as many places at each moment. */
export function elapsed(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** `4 ms`, `0.41 s`, `12.4 s`, `2 min 5 s` */
export function duration(milliseconds: number): string {
  if (milliseconds < 100) return `${numbers.format(Math.round(milliseconds * 10) / 10)} ms`
  const seconds = milliseconds / 1000
  if (seconds < 10) return `${seconds.toFixed(2)} s`
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

/** `312 bytes`, `1.2 MB`; units of 1,000 */
export function bytes(value: number): string {
  let unit = 0
  let rest = value
  while (rest >= 1000 && unit < unitNames.length - 1) {
    rest /= 1000
    unit += 1
  }
  return `${unit === 0 || rest >= 100 ? numbers.format(Math.round(rest)) : rest.toFixed(1)} ${unitNames[unit]}`
}
