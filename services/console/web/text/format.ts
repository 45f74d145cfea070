// Numbers, times and plurals in the language of the texts. Data of a database is never formatted by these.
const LANGUAGE = 'en'

const numbers = new Intl.NumberFormat(LANGUAGE)
const compact = new Intl.NumberFormat(LANGUAGE, { notation: 'compact', maximumSignificantDigits: 3 })
const plurals = new Intl.PluralRules(LANGUAGE)
const times = new Intl.DateTimeFormat(LANGUAGE, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const dates = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
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
