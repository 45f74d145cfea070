import { bytes, count, date, estimate, number } from './format'

/** Texts of the screen Schema. */
export const schema = {
  title: 'Schema',
  tree: 'Tables',
  filter: 'Names and comments',
  filterLabel: 'Filter by names and comments',
  listWidth: 'Width of the list',
  none: 'No table, column or comment has these words.',
  denied: 'no access',
  deniedHint: 'The role of the server may not use this schema.',
  cut: 'There are more tables than the server lists. Those that are left out can still be queried.',
  loadedAt: (at: string) => `Read ${date(at)}`,
  refresh: 'Read the tables again',
  overview: (tables: number, schemas: number) =>
    `${count(tables, 'table', 'tables')} in ${count(schemas, 'schema', 'schemas')}`,
  chooseTable: 'Choose a table in the list, or follow the relations.',
  emptyTitle: 'The server sees no tables here',
  emptyText: (role: string) =>
    `The role ${role} may read no table of this database. The owner of the tables can change that:`,
  gone: 'There is no such table',
  goneText: (name: string) => `${name} is not among the tables that the server sees.`,
  facts: (kind: string, rows: number | null, size: number | null) =>
    [
      kind,
      rows === null ? null : `about ${rows < 10_000 ? count(rows, 'row', 'rows') : `${estimate(rows)} rows`}`,
      size === null ? null : bytes(size),
    ]
      .filter(Boolean)
      .join(' · '),
  query: 'Query',
  ask: 'Ask about it',
  question: (table: string) => `What is in the table ${table}, and what is it used for?`,
  searchByMeaning: 'Search by meaning',
  views: {
    columns: 'Columns',
    keys: 'Keys',
    indexes: 'Indexes',
    sample: 'Sample',
    text: 'Text',
    relations: 'Relations',
  },
  viewsOf: (table: string) => `Views of ${table}`,
  column: 'Column',
  type: 'Type',
  nullable: 'NULL',
  yes: 'yes',
  no: 'no',
  default: 'Default',
  key: 'Key',
  comment: 'Comment',
  primary: 'primary key',
  unique: 'unique',
  indexed: 'indexed',
  identity: (kind: string) => `identity, ${kind}`,
  vector: (dimensions: number) => `vector of ${number(dimensions)}`,
  refersTo: 'Refers to',
  referredBy: 'Referred to by',
  noReferences: 'This table refers to no other.',
  noReferrers: 'No table refers to this one.',
  noPrimary: 'This table has no primary key.',
  noIndexes: 'This table has no indexes.',
  index: 'Index',
  method: 'Method',
  columns: 'Columns',
  definition: 'Definition',
  sampleOf: (rows: number) => `The first ${count(rows, 'row', 'rows')} as the table gives them.`,
  sampleEmpty: 'The table has no rows.',
  textHint: 'Made from what the server knows of the table; constraints other than keys are left out.',
  open: (table: string) => `Open ${table}`,
}

/** Texts of the diagram of relations. */
export const relations = {
  depth: 'Depth',
  depthOf: (depth: number) => `depth ${number(depth)}`,
  wholeSchema: (name: string) => `All of ${name}`,
  schema: 'Schema',
  zoomIn: 'Larger',
  zoomOut: 'Smaller',
  fit: 'Fit to the window',
  diagram: (tables: number, references: number) =>
    `Diagram of ${count(tables, 'table', 'tables')} and ${count(references, 'reference', 'references')}. Arrow keys move it, plus and minus change its size, Home fits it. The list below says the same.`,
  list: 'As a list',
  listOf: (references: number) => `As a list: ${count(references, 'reference', 'references')}`,
  tooMany: (tables: number, limit: number) =>
    `${number(tables)} tables are too many for one diagram. It starts from one table above ${number(limit)}: choose one in the list.`,
  cut: (limit: number) => `Only the nearest ${number(limit)} tables are drawn.`,
  alone: 'No foreign key leads to this table or from it.',
  none: 'No foreign keys connect the tables of this schema.',
  moreColumns: (columns: number) => `${number(columns)} more`,
}
