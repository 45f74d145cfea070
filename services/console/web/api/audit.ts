import { call, open } from './client'

/** A record of the audit trail, with the members that apply to it. */
export interface AuditRecord {
  seq?: number
  at?: string
  kind?: string
  caller?: { kind?: string; name?: string; token?: string; ip?: string }
  client?: { name?: string; version?: string }
  method?: string
  tool?: string
  database?: string
  statement?: { sha256?: string; text?: string }
  rows?: number
  bytes?: number
  ms?: number
  verdict?: string
  code?: string | number
  [member: string]: unknown
}

/** State of the chain of digests over the records that were read. */
export type Chain = 'intact' | 'broken' | 'unchecked'

export interface AuditPage {
  /** The newest first. */
  records: AuditRecord[]
  /** Place where the next page begins; null at the end. */
  next: string | number | null
  chain: Chain
}

/** Members that records are searched by. Empty ones do not count. */
export interface AuditFilter {
  /** `true` for records with a statement only. */
  statements: string
  from: string
  to: string
  caller: string
  tool: string
  database: string
  verdict: string
  q: string
}

const PAGE = 100
const EXPORT_PAGE = 500

function addressOf(filter: Partial<AuditFilter>, extra: Record<string, string>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...filter, ...extra })) if (value) query.set(name, value)
  return `/api/admin/audit?${query}`
}

/** Returns a page of records. */
export const auditRecords = (filter: Partial<AuditFilter>, before: string | number | null, signal: AbortSignal, limit = PAGE): Promise<AuditPage> =>
  call(addressOf(filter, { limit: String(limit), before: before === null ? '' : String(before) }), { signal })

/** Returns all records up to a number of them as CSV, as the server writes it. */
export async function auditCsv(filter: Partial<AuditFilter>, most: number, signal: AbortSignal): Promise<string> {
  let text = ''
  let before = ''
  for (let read = 0; read < most; read += EXPORT_PAGE) {
    const page = await open(addressOf(filter, { format: 'csv', limit: String(EXPORT_PAGE), before }), { signal, headers: { Accept: 'text/csv' } })
    text += await page.text()
    before = page.headers.get(NEXT) ?? ''
    if (!before) break
  }
  return text
}

/** Header of a page of CSV with the place where the next one begins. */
const NEXT = 'Ziggurat-Next'

/** Returns all records up to a number of them. */
export async function allRecords(filter: Partial<AuditFilter>, most: number, signal: AbortSignal): Promise<AuditRecord[]> {
  const records: AuditRecord[] = []
  let before: string | number | null = null
  do {
    const page: AuditPage = await auditRecords(filter, before, signal, EXPORT_PAGE)
    records.push(...page.records)
    before = page.next
  } while (before !== null && records.length < most)
  return records
}
