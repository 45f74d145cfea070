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
  sheets: 'Statements',
  untitled: 'untitled',
  newSheet: 'New tab',
  closeSheet: (title: string) => `Close ${title}`,
  closeHint: 'Delete closes the tab.',
  moreActions: 'More actions',
  saveHint: (key: string) => `Save (${key} S)`,
  saveAsNew: 'Save as a new query',
  unsaved: 'Changed, not saved:',
  copyLink: 'Copy a link to this text',
  linkCopied: 'Link copied. It fills the editor and does not run.',
  linkTooLong: 'The text is too long for a link.',
  run: 'Run',
  runHint: 'Runs the selection, else the statement under the cursor',
  stop: 'Stop',
  explain: 'Explain',
  analyse: 'Explain analyse (runs it)',
  limit: 'Limit of rows',
  limitOf: (rows: number) => `limit ${number(rows)}`,
  timeLimit: 'Time limit',
  timeOfDatabase: 'That of the database',
  timeOf: (seconds: number) =>
    seconds < 60 ? count(seconds, 'second', 'seconds') : count(seconds / 60, 'minute', 'minutes'),
  nothingToRun: 'There is no statement under the cursor.',
  emptyTitle: 'No result yet',
  empty: (key: string) => `Write a statement and press ${key} Enter, or choose a table on the left.`,
  interrupted:
    'The page was reloaded while a statement ran here. The statement was stopped; it was not run again.',
  dismiss: 'Dismiss',
  results: 'Results',
  resultTab: (place: number) => `Result ${number(place)}`,
  views: { rows: 'Rows', chart: 'Chart', plan: 'Plan', messages: 'Messages' },
  running: (seconds: number) => `Running for ${number(seconds)} s`,
  runningRows: (rows: number) => `${count(rows, 'row', 'rows')} so far`,
  rowsOf: (done: Done) => {
    const rows = count(done.rows, 'row', 'rows')
    if (done.truncated === 'rows') return `${rows}, there are more`
    if (done.truncated === 'bytes') return `${rows}, cut at the size limit`
    return rows
  },
  facts: (ms: number, database: string, at: number) => `${duration(ms)} · ${database} ${time(at)}`,
  stopped: 'Stopped.',
  stoppedRows: (rows: number) => `Stopped after ${count(rows, 'row', 'rows')}.`,
  failedRows: (rows: number) => `These ${count(rows, 'row', 'rows')} arrived before the failure.`,
  failed: 'The statement failed',
  notRun: 'The statement was not run',
  sqlstate: (state: string) => `SQLSTATE ${state}`,
  detail: 'Detail',
  hint: 'Hint',
  showPosition: 'Show the place',
  loadMore: (rows: number) => `Load ${number(rows)} (runs again)`,
  loadMoreHint: 'Runs the statement again with a higher limit',
  noColumns: (done: Done) =>
    done.command === null
      ? 'The statement returned no columns.'
      : `${done.command}: ${count(done.affected ?? 0, 'row', 'rows')} changed.`,
  noMessages: 'The server has sent no messages.',
  command: 'Command',
  affected: 'Rows changed',
  notices: 'Notices',
  planFirst: 'See how PostgreSQL runs this statement.',
  planHint: 'Explain plans it only. Explain analyse runs it and measures each step.',
  chartNone: 'These rows have no shape for a chart.',

  exportMenu: 'Export',
  exportFormats: { csv: 'CSV', tsv: 'TSV', json: 'JSON', ndjson: 'JSON lines' },
  exportTitle: 'Export',
  exportWhat: 'Rows',
  exportForm: 'Format',
  exportGuard: 'Guard cells that spreadsheets take for formulas',
  exportGuardHint: 'Puts an apostrophe before =, +, - and @ at the start of a text.',
  exportStart: 'Save the file',
  exportStarted: 'The server writes the file.',
  exportLoadedRows: (rows: number) =>
    `The ${count(rows, 'loaded row', 'loaded rows')}, as sorted and filtered`,
  exportAllRows: 'All rows; the server runs the statement again',
  cancel: 'Cancel',

  confirmTitle: 'This statement may change data',
  confirmWhere: 'Database',
  confirmText: 'It runs once, and what it changes cannot be taken back here.',
  doNotRun: 'Do not run',
  confirmRun: 'Run it',

  valuesTitle: 'Values',
  valuesText: 'Each value is put into the statement as a text, in quotes.',
  valueNull: (name: string) => `${name} is NULL`,
  valuesPreview: 'This runs:',

  history: 'History',
  tables: 'Tables',
  historyEmpty: 'Statements that ran in this browser are listed here.',
  historyFilter: 'Filter the history',
  historyNone: 'No statement has these words.',
  historyClear: 'Delete the history',
  historyClearTitle: 'Delete the history?',
  historyClearText: (statements: number) =>
    `${count(statements, 'statement', 'statements')} in this browser will be deleted.`,
  historyDelete: 'Delete',
  historyOutcome: { done: 'ran', failed: 'failed', stopped: 'stopped' },
  historyFacts: (database: string, at: string, rows: number | null, ms: number) =>
    [at, database, rows === null ? null : count(rows, 'row', 'rows'), duration(ms)]
      .filter(Boolean)
      .join(' · '),
  tableFilter: 'Filter the tables',
  tablesNone: 'No table has these words.',
  tablesEmpty: 'The role of the server sees no tables here.',
  tablesCut: 'There are more tables than are listed.',
  query: 'Query this table',
}
