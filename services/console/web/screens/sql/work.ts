import { signal } from '@preact/signals'
import type { LibraryItem } from '../../api/library'
import { demandOf, type Demand } from '../../api/query'
import type { Statement } from '../../parts/editor/statements'
import { openTabs, thisTab } from './browser-tab'
import { filled, indexOf, namesIn } from './placeholders'
import { Run, type Order } from './run'
import { Sheet } from './sheet'
import { Storage, type Draft, type Ran } from './storage'

/** Something that a person has to answer before a statement runs. */
export type Question =
  | { kind: 'confirm'; demand: Demand; answer: (run: boolean) => void }
  | { kind: 'preview'; sql: string; database: string; answer: () => void }
  | {
      kind: 'values'
      sql: string
      names: readonly string[]
      answer: (values: Map<string, string | null> | null) => void
    }

/** Work that a page could not write to the database of the browser before the page went. */
interface Pending {
  person: string
  drafts: Draft[]
  history: Ran[]
}

/** The ways to run a statement. */
export type Manner = 'rows' | 'explain' | 'analyze'

const DEFAULT_LIMIT = 1000
const KEEP_AFTER = 300 // milliseconds without a change
const CURRENT = 'ziggurat-console-sheet'
const RUNNING = 'ziggurat-console-running'
const PENDING = 'ziggurat-console-pending'

/** The work of a person in the screen SQL. It stays while other screens are shown. */
export class Work {
  readonly sheets = signal<readonly Sheet[]>([])
  readonly current = signal<Sheet | null>(null)
  readonly history = signal<readonly Ran[]>([])
  readonly limit = signal(DEFAULT_LIMIT)
  /** Seconds that a statement may run; null leaves it to the database. */
  readonly timeLimit = signal<number | null>(null)
  readonly question = signal<Question | null>(null)
  private readonly storage: Storage
  private tab = ''
  private readonly due = new Map<Sheet, ReturnType<typeof setTimeout>>()
  /** Statements that ran and are not written yet. */
  private readonly unwritten = new Set<Ran>()
  private readonly values = new Map<string, string | null>()

  constructor(readonly person: string) {
    this.storage = new Storage(person)
    addEventListener('pagehide', this.keepAll)
  }

  /** Stops what runs and keeps nothing any more. */
  end(): void {
    removeEventListener('pagehide', this.keepAll)
    sessionStorage.removeItem(PENDING)
    for (const timer of this.due.values()) clearTimeout(timer)
    this.due.clear()
    this.unwritten.clear()
    for (const sheet of this.sheets.value) sheet.stop()
  }

  /** Restores the tabs. A statement that ran when the page went is reported, not repeated. */
  async restore(): Promise<void> {
    this.tab = await thisTab()
    await this.restorePending()
    const drafts = await this.ownDrafts()
    this.history.value = await this.storage.history()
    const sheets = drafts.map(({ id, text, saved }) => new Sheet(id, text, saved))
    this.sheets.value = sheets
    const interrupted = sessionStorage.getItem(RUNNING)
    sessionStorage.removeItem(RUNNING)
    for (const sheet of sheets) {
      sheet.interrupted.value = sheet.id === interrupted
      // A draft of a closed tab belongs to this one from now on.
      this.keep(sheet)
    }
    const last = sessionStorage.getItem(CURRENT)
    const current = sheets.find(({ id }) => id === last) ?? sheets.at(-1)
    if (current) this.choose(current)
    else this.add('')
  }

  /** The drafts of this tab of the browser, and those of tabs that were closed. */
  private async ownDrafts(): Promise<Draft[]> {
    const [drafts, open] = await Promise.all([this.storage.drafts(), openTabs()])
    return drafts.filter(({ tab }) => tab === this.tab || !open.has(tab))
  }

  choose(sheet: Sheet): void {
    this.current.value = sheet
    sessionStorage.setItem(CURRENT, sheet.id)
  }

  /** Opens a text in a new tab, or in the current one if that is empty. The text never runs by itself. */
  open(text: string): void {
    const same = this.sheets.value.find((sheet) => sheet.text.value === text)
    const { value: current } = this.current
    if (same) return this.choose(same)
    if (!current || current.text.value.trim() !== '') return void this.add(text)
    current.replaceText(text)
    this.changed(current)
  }

  /** Opens a saved query in a tab of its own, or the tab that has it open. It never runs by itself. */
  openSaved(item: LibraryItem): void {
    const same = this.sheets.value.find((sheet) => sheet.saved.value?.id === item.id)
    if (!same) {
      const { value: current } = this.current
      const isFree = current && current.text.value.trim() === '' && !current.saved.value
      const sheet = isFree ? current : this.add('')
      sheet.replaceText(item.text)
      sheet.saved.value = item
      return this.changed(sheet)
    }
    // A changed text stays, with the version that it began with: saving it then shows both. Another one follows.
    if (!same.isChanged.value) {
      if (same.text.value !== item.text) same.replaceText(item.text)
      same.saved.value = item
      this.changed(same)
    }
    this.choose(same)
  }

  /** Takes over what became of a saved query; `null` if it was deleted. Texts of tabs stay. */
  follow(id: string, item: LibraryItem | null): void {
    for (const sheet of this.sheets.value) {
      if (sheet.saved.value?.id !== id) continue
      sheet.saved.value = item
      this.changed(sheet)
    }
  }

  add(text: string): Sheet {
    const sheet = new Sheet(crypto.randomUUID(), text)
    this.sheets.value = [...this.sheets.value, sheet]
    this.choose(sheet)
    if (text !== '') this.changed(sheet)
    return sheet
  }

  close(sheet: Sheet): void {
    sheet.stop()
    const { value: sheets } = this.sheets
    const place = sheets.indexOf(sheet)
    const left = sheets.filter((other) => other !== sheet)
    this.sheets.value = left
    clearTimeout(this.due.get(sheet))
    this.due.delete(sheet)
    void this.storage.deleteDraft(sheet.id)
    if (this.current.value !== sheet) return
    const next = left[Math.min(place, left.length - 1)]
    if (next) this.choose(next)
    else this.add('')
  }

  /** Keeps a changed text after a short while. */
  changed(sheet: Sheet): void {
    clearTimeout(this.due.get(sheet))
    this.due.set(
      sheet,
      setTimeout(() => this.keep(sheet), KEEP_AFTER),
    )
  }

  private keep(sheet: Sheet): void {
    clearTimeout(this.due.get(sheet))
    this.due.delete(sheet)
    void this.storage.keepDraft(this.draftOf(sheet))
  }

  /** Keeps what is not kept yet when the page goes. Its databases may be closed already, so the tab keeps it too. */
  private readonly keepAll = (): void => {
    const sheets = [...this.due.keys()]
    const history = [...this.unwritten]
    if (sheets.length === 0 && history.length === 0) return
    const pending: Pending = { person: this.person, drafts: sheets.map((sheet) => this.draftOf(sheet)), history }
    sessionStorage.setItem(PENDING, JSON.stringify(pending))
    for (const sheet of sheets) this.keep(sheet)
  }

  private draftOf(sheet: Sheet): Draft {
    return { id: sheet.id, tab: this.tab, place: this.sheets.value.indexOf(sheet), text: sheet.text.value, saved: sheet.saved.value }
  }

  /** Takes over what the tab kept when its page went. */
  private async restorePending(): Promise<void> {
    const kept = sessionStorage.getItem(PENDING)
    sessionStorage.removeItem(PENDING)
    const pending = kept === null ? null : (JSON.parse(kept) as Pending)
    if (pending?.person !== this.person) return
    for (const draft of pending.drafts) await this.storage.keepDraft(draft)
    // The browser may have finished writing after the page went.
    const written = new Set((await this.storage.history()).map(keyOf))
    for (const ran of pending.history) if (!written.has(keyOf(ran))) await this.storage.addRan(ran)
  }

  /** Runs statements one after another and stops at the first that fails. */
  async run(
    sheet: Sheet,
    statements: readonly Statement[],
    database: string,
    manner: Manner = 'rows',
  ): Promise<void> {
    if (sheet.busy.value || statements.length === 0) return
    sheet.busy.value = true
    const orders = await this.orders(statements, database)
    if (orders) await this.runAll(sheet, orders, manner)
    sheet.busy.value = false
  }

  private async runAll(sheet: Sheet, orders: readonly Order[], manner: Manner): Promise<void> {
    sheet.interrupted.value = false
    sheet.mark.value = null
    sheet.runs.value = []
    for (const order of orders) {
      const run = new Run(order, manner === 'rows' ? 'rows' : 'plan')
      sheet.runs.value = [...sheet.runs.value, run]
      sheet.shown.value = run
      if (manner === 'rows') {
        if (sheet.view.value === 'plan') sheet.view.value = 'rows'
        await this.runRows(sheet, run)
      } else {
        sheet.view.value = 'plan'
        await run.explain(manner === 'analyze')
      }
      if (run.state.value !== 'done' || !sheet.busy.value) break
    }
  }

  /** Shows the rows that statements would change together. */
  async preview(statements: readonly Statement[], database: string): Promise<void> {
    const orders = await this.orders(statements, database)
    if (!orders) return
    const sql = orders.map(({ filled }) => filled.sql).join(';\n\n')
    await new Promise<void>((answer) => {
      this.question.value = { kind: 'preview', sql, database, answer }
    })
    this.question.value = null
  }

  /** Runs a statement again with a higher limit, in the place of its result. */
  async loadMore(sheet: Sheet, before: Run, limit: number): Promise<void> {
    if (sheet.busy.value) return
    sheet.busy.value = true
    const run = new Run({ ...before.order, limit })
    sheet.runs.value = sheet.runs.value.map((other) => (other === before ? run : other))
    sheet.shown.value = run
    await this.runRows(sheet, run)
    sheet.busy.value = false
  }

  private async runRows(sheet: Sheet, run: Run): Promise<void> {
    sessionStorage.setItem(RUNNING, sheet.id)
    try {
      await run.start()
    } catch (problem) {
      await this.confirm(run, problem)
    }
    sessionStorage.removeItem(RUNNING)
    const { failure, state } = run
    if (failure.value?.position) {
      const index = indexOf(run.sql, failure.value.position)
      sheet.mark.value = run.order.from + run.order.filled.original(index)
    }
    if (sheet.view.value === 'messages') sheet.view.value = 'rows'
    if (state.value !== 'running') this.remember(run)
  }

  /** Asks before a statement that may write, and runs it if the person says so. */
  private async confirm(run: Run, problem: unknown): Promise<void> {
    // The data may have changed since the person has seen a preview. Then the answer is a new one.
    for (let found = problem; ; ) {
      const demand = demandOf(found)
      if (!demand) return
      run.again()
      const agreed = await new Promise<boolean>((answer) => {
        this.question.value = { kind: 'confirm', demand, answer }
      })
      this.question.value = null
      if (!agreed) return run.withdraw()
      run.again()
      try {
        return await run.start(demand.confirm)
      } catch (again) {
        found = again
      }
    }
  }

  /** Asks for the values of a statement; null if the person would rather not run it. */
  private async orders(statements: readonly Statement[], database: string): Promise<Order[] | null> {
    const sql = statements.map(({ text }) => text).join(';\n\n')
    const names = namesIn(sql)
    if (names.length > 0) {
      const given = await new Promise<Map<string, string | null> | null>((answer) => {
        this.question.value = { kind: 'values', sql, names, answer }
      })
      this.question.value = null
      if (!given) return null
      for (const [name, value] of given) this.values.set(name, value)
    }
    const [limit, timeLimit] = [this.limit.value, this.timeLimit.value]
    return statements.map(({ text, from }) => ({
      filled: filled(text, this.values),
      database,
      limit,
      timeLimit,
      from,
    }))
  }

  /** The value that was given for a name before. */
  valueOf(name: string): string | null | undefined {
    return this.values.get(name)
  }

  private remember(run: Run): void {
    const { state, order, done, ms } = run
    if (run.problem.value && !run.rows.value) return
    const outcome = state.value === 'running' ? 'stopped' : state.value
    const rows = done.value ? (done.value.affected ?? done.value.rows) : null
    const ran: Ran = {
      at: run.startedAt,
      database: order.database,
      sql: run.sql,
      ms: ms.value,
      rows,
      outcome,
    }
    this.history.value = [ran, ...this.history.value].slice(0, 1000)
    this.unwritten.add(ran)
    void this.storage.addRan(ran).then(() => this.unwritten.delete(ran))
  }

  async clearHistory(): Promise<void> {
    this.history.value = []
    this.unwritten.clear()
    await this.storage.clearHistory()
  }
}

function keyOf({ at, sql }: Ran): string {
  return `${at} ${sql}`
}
