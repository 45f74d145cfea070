import type { AuditFilter } from '../../api/audit'

/** Times that records are looked for in. */
export const PERIODS = ['hour', 'today', 'week', 'month', 'all', 'between'] as const

export type Period = (typeof PERIODS)[number]

/** The search of a person, as it stands in the address. */
export interface Wanted {
  /** `statements`, or `all` for calls without one as well. */
  calls: string
  period: Period
  /** Local times of the fields *From* and *To*, for `between`. */
  from: string
  to: string
  caller: string
  tool: string
  database: string
  verdict: string
  words: string
}

export const VERDICTS = ['ok', 'error', 'refused', 'denied', 'limited', 'asked', 'cancelled', 'timeout', 'failed', 'unknown', 'lost'] as const

/** Names of the members in the address. The database of the tab has `db`, so that of the records has another one. */
const NAMES: Record<keyof Wanted, string> = {
  calls: 'calls',
  period: 'when',
  from: 'from',
  to: 'to',
  caller: 'caller',
  tool: 'tool',
  database: 'database',
  verdict: 'verdict',
  words: 'q',
}

const USUAL: Period = 'today'

export const NOTHING: Wanted = { calls: 'statements', period: USUAL, from: '', to: '', caller: '', tool: '', database: '', verdict: '', words: '' }

/** Reads what is wanted from the address. */
export function wantedIn(query: URLSearchParams): Wanted {
  const wanted = { ...NOTHING }
  for (const [member, name] of Object.entries(NAMES) as [keyof Wanted, string][]) {
    const value = query.get(name)
    if (member === 'period') wanted.period = PERIODS.find((known) => known === value) ?? USUAL
    else if (value) wanted[member] = value
  }
  return wanted
}

/** Writes what is wanted as a step of the address. Usual values are left out. */
export function queryOf(wanted: Wanted): Record<string, string | null> {
  const step = Object.entries(NAMES).map(([member, name]) => {
    const value = wanted[member as keyof Wanted].trim()
    return [name, value === '' || value === NOTHING[member as keyof Wanted] ? null : value] as const
  })
  return Object.fromEntries(step)
}

/** The filter for the server. Times that go with the clock are counted from now. */
export function filterOf({ calls, period, from, to, caller, tool, database, verdict, words }: Wanted, now: Date): AuditFilter {
  const rest = { statements: calls === 'all' ? '' : 'true', caller: caller.trim(), tool: tool.trim(), database, verdict, q: words.trim() }
  if (period === 'between') return { from: instant(from), to: instant(to), ...rest }
  return { from: beginOf(period, now)?.toISOString() ?? '', to: '', ...rest }
}

const HOUR = 3_600_000

function beginOf(period: Exclude<Period, 'between'>, now: Date): Date | null {
  switch (period) {
    case 'hour':
      return new Date(now.getTime() - HOUR)
    case 'today':
      return new Date(now.getFullYear(), now.getMonth(), now.getDate())
    case 'week':
      return new Date(now.getTime() - 7 * 24 * HOUR)
    case 'month':
      return new Date(now.getTime() - 30 * 24 * HOUR)
    case 'all':
      return null
  }
}

// A field without a whole time counts as empty.
function instant(local: string): string {
  const time = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d/.test(local) ? new Date(local) : null
  return time && !Number.isNaN(time.getTime()) ? time.toISOString() : ''
}
