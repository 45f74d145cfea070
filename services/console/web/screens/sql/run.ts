import { signal } from '@preact/signals'
import type { Done, Notice, QueryFailure } from '../../api/query'
import { explain, type Explained } from '../../api/explain'
import { query } from '../../api/query'
import { wasStopped } from '../../api/problem'
import { Rows } from '../../parts/grid/rows'
import type { Filled } from './placeholders'

export type RunState = 'running' | 'done' | 'failed' | 'stopped'

/** A statement to run. */
export interface Order {
  readonly filled: Filled
  readonly database: string
  readonly limit: number
  /** Seconds; null leaves it to the database. */
  readonly timeLimit: number | null
  /** Index at which the statement begins in the text of its tab. */
  readonly from: number
}

/** Milliseconds of reading after which the page may paint. */
const LONGEST_TASK = 16

/** Lets the page paint. A page that is not seen has nothing to paint, and its timers are slow. */
function pause(): Promise<void> {
  if (globalThis.document?.hidden) return Promise.resolve()
  return new Promise((resolve) => setTimeout(resolve))
}

let next = 1

/** A statement that runs or ran, with what came of it. */
export class Run {
  readonly id = next++
  readonly startedAt = Date.now()
  readonly state = signal<RunState>('running')
  readonly rows = signal<Rows | null>(null)
  readonly done = signal<Done | null>(null)
  readonly failure = signal<QueryFailure | null>(null)
  /** A failure that PostgreSQL has not reported: refused, broken off, not reached. */
  readonly problem = signal<unknown>(null)
  readonly ms = signal(0)
  readonly plan = signal<PlanState>({ explained: null, problem: null, running: false, analyzed: false })
  private stopping = new AbortController()
  private began = performance.now()

  constructor(
    readonly order: Order,
    /** `plan` runs show the plan of a statement, not its rows. */
    readonly kind: 'rows' | 'plan' = 'rows',
  ) {}

  get sql(): string {
    return this.order.filled.sql
  }

  get notices(): readonly Notice[] {
    return this.done.value?.notices ?? []
  }

  stop(): void {
    this.stopping.abort()
  }

  /**
   * Runs the statement. Throws what the server refuses before it runs, such as a missing confirmation.
   * Rows that arrived before a failure stay.
   */
  async start(confirm?: string): Promise<void> {
    const { database, limit } = this.order
    const request = {
      database,
      sql: this.sql,
      max_rows: limit,
      ...(confirm === undefined ? {} : { confirm }),
    }
    try {
      let paintedAt = performance.now()
      for await (const line of query(request, this.stopping.signal)) {
        if (line.columns) this.rows.value = new Rows(line.columns)
        if (line.rows) this.rows.value?.append(line.rows)
        if (line.done) this.done.value = line.done
        if (line.error) this.failure.value = line.error
        // An answer that arrives at once would keep the page from showing its first rows, or from stopping it.
        if (performance.now() - paintedAt > LONGEST_TASK) {
          await pause()
          paintedAt = performance.now()
        }
      }
      this.end(this.failure.value ? 'failed' : 'done')
    } catch (problem) {
      if (wasStopped(problem)) return this.end('stopped')
      this.problem.value = problem
      this.end('failed')
      throw problem
    }
  }

  /** Begins again after a confirmation. */
  again(): void {
    this.began = performance.now()
    this.problem.value = null
    this.state.value = 'running'
  }

  /** Takes a run back that was not confirmed. */
  withdraw(): void {
    this.problem.value = null
    this.end('stopped')
  }

  private end(state: RunState): void {
    this.rows.value?.end()
    this.ms.value = this.done.value?.ms ?? performance.now() - this.began
    this.state.value = state
  }

  /** Asks for the plan of the statement. */
  async explain(analyze: boolean): Promise<void> {
    this.plan.value = { explained: null, problem: null, running: true, analyzed: analyze }
    this.stopping = new AbortController()
    try {
      const explained = await explain(this.order.database, this.sql, analyze, this.stopping.signal)
      this.plan.value = { explained, problem: null, running: false, analyzed: analyze }
      if (this.kind === 'plan') this.end('done')
    } catch (problem) {
      const stopped = wasStopped(problem)
      this.plan.value = {
        explained: null,
        problem: stopped ? null : problem,
        running: false,
        analyzed: analyze,
      }
      if (this.kind === 'plan') this.end(stopped ? 'stopped' : 'failed')
    }
  }
}

export interface PlanState {
  readonly explained: Explained | null
  readonly problem: unknown
  readonly running: boolean
  /** Is true if the statement was run for its plan. */
  readonly analyzed: boolean
}
