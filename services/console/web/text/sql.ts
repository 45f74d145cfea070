import type { Done } from '../api/query'
import { count, duration, number, time } from './format'

/** Texts of the screen SQL. */
export const sql = {
  title: 'SQL',
  editor: 'Editor',
  result: 'Result',
  side: 'Tables, saved queries and history',
  showSide: 'Show tables, saved queries and history',
  sideWidth: 'Width of the list',
  editorHeight: 'Height of the editor',
  sheets: 'Query tabs',
  untitled: 'untitled',
  newSheet: 'New tab',
  closeSheet: (title: string) => `Close ${title}`,
  closeHint: 'Delete closes the tab.',
  moreActions: 'More actions',
  saveHint: (key: string) => `Save (${key} S)`,
  saveAsNew: 'Save as new query',
  unsaved: 'Unsaved changes:',
  copyLink: 'Copy link',
  linkCopied: 'Link copied. It opens the text in the editor and does not run it.',
  linkTooLong: 'The text is too long for a link.',
  run: 'Run',
  runHint: 'Runs the selection, or else the statement at the cursor',
  stop: 'Stop',
  explain: 'Explain',
  analyze: 'Explain analyze (executes it)',
  limit: 'Row limit',
  limitOf: (rows: number) => `limit ${number(rows)}`,
  timeLimit: 'Timeout',
  timeOfDatabase: 'Database default',
  timeOf: (seconds: number) =>
    seconds < 60 ? count(seconds, 'second', 'seconds') : count(seconds / 60, 'minute', 'minutes'),
  nothingToRun: 'No statement at the cursor.',
  emptyTitle: 'No results yet',
  empty: (key: string) => `Write a statement and press ${key} Enter, or choose a table on the left.`,
  interrupted:
    'The page was reloaded while a statement was running. The statement was cancelled and not run again.',
  dismiss: 'Dismiss',
  results: 'Results',
  resultTab: (place: number) => `Result ${number(place)}`,
  views: { rows: 'Rows', chart: 'Chart', plan: 'Plan', messages: 'Messages' },
  running: (seconds: number) => `Running for ${number(seconds)} s`,
  runningRows: (rows: number) => `${count(rows, 'row', 'rows')} so far`,
  rowsOf: (done: Done) => {
    const rows = count(done.rows, 'row', 'rows')
    if (done.truncated === 'rows') return `${rows}, more available`
    if (done.truncated === 'bytes') return `${rows}, truncated at the size limit`
    return rows
  },
  facts: (ms: number, database: string, at: number) => `${duration(ms)} · ${database} ${time(at)}`,
  stopped: 'Stopped.',
  stoppedRows: (rows: number) => `Stopped after ${count(rows, 'row', 'rows')}.`,
  failedRows: (rows: number) => `${count(rows, 'row', 'rows')} received before the error.`,
  failed: 'The statement failed',
  notRun: 'The statement was not run',
  sqlstate: (state: string) => `SQLSTATE ${state}`,
  detail: 'Detail',
  hint: 'Hint',
  showPosition: 'Go to error',
  loadMore: (rows: number) => `Load ${number(rows)} (reruns)`,
  loadMoreHint: 'Reruns the statement with a higher row limit',
  noColumns: (done: Done) =>
    done.command === null
      ? 'The statement returned no columns.'
      : `${done.command}: ${count(done.affected ?? 0, 'row', 'rows')} affected.`,
  noMessages: 'No messages.',
  command: 'Command',
  affected: 'Rows affected',
  notices: 'Notices',
  planFirst: 'Show how PostgreSQL executes this statement.',
  planHint: 'Explain shows the plan. Explain analyze executes the statement and measures each node.',
  chartNone: 'No chart for these rows.',

  keep: 'Keep with receipt',
  keepHint: 'Reruns the statement, and saves the answer with its signed receipt.',
  exportMenu: 'Export',
  exportFormats: { csv: 'CSV', tsv: 'TSV', json: 'JSON', ndjson: 'JSON lines' },
  exportTitle: 'Export',
  exportWhat: 'Rows',
  exportForm: 'Format',
  exportGuard: 'Escape formulas',
  exportGuardHint: 'Puts an apostrophe before texts that spreadsheets take for formulas.',
  exportStart: 'Download',
  exportStarted: 'Download started.',
  exportLoadedRows: (rows: number) =>
    `${count(rows, 'loaded row', 'loaded rows')}, as sorted and filtered`,
  exportAllRows: 'All rows (reruns the statement)',
  cancel: 'Cancel',

  confirmTitle: 'This statement may change data',
  confirmWhere: 'Database',
  confirmText: 'This cannot be undone.',
  confirmRun: 'Run',

  valuesTitle: 'Parameters',
  valuesText: 'Each value is inserted into the statement as a quoted literal.',
  valueNull: (name: string) => `${name} is NULL`,
  valuesPreview: 'Statement',

  history: 'History',
  tables: 'Tables',
  historyEmpty: 'No history yet. Statements that you run in this browser are listed here.',
  historyFilter: 'Filter history',
  historyNone: 'No matches.',
  historyClear: 'Clear history',
  historyClearTitle: 'Clear history?',
  historyClearText: (statements: number) =>
    `${count(statements, 'statement', 'statements')} in this browser will be deleted.`,
  historyDelete: 'Delete',
  historyOutcome: { done: 'completed', failed: 'failed', stopped: 'stopped' },
  historyFacts: (database: string, at: string, rows: number | null, ms: number) =>
    [at, database, rows === null ? null : count(rows, 'row', 'rows'), duration(ms)]
      .filter(Boolean)
      .join(' · '),
  tableFilter: 'Filter tables',
  tablesNone: 'No matches.',
  tablesEmpty: 'No tables.',
  tablesCut: 'Not all tables are listed.',
  query: 'Select rows',
}
