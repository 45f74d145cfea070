import { count, number } from './format'

/** Texts of charts. */
export const chart = {
  kind: 'Chart type',
  kinds: { line: 'Line', bars: 'Bar', scatter: 'Scatter', value: 'Number' },
  across: 'X axis',
  names: 'Category',
  series: 'Y axis',
  split: 'Split by',
  noSplit: 'None',
  stacked: 'Stacked',
  others: 'others',
  othersNote: (names: number, shown: number) =>
    `The ${number(shown)} largest categories are shown; ${count(names, 'category is', 'categories are')} summed as others. A bar of others that is too long is cut off.`,
  grouped: 'Rows of the same category are summed.',
  left: (rows: number) =>
    `${count(rows, 'row', 'rows')} without an X value left out.`,
  none: 'No chart for these rows',
  noneText: 'A chart needs a numeric column and a time or category column. Choose columns above.',
  table: 'Data table',
  tableCut: (shown: number) => `The first ${number(shown)} rows. Rows shows all of them.`,
  noSeries: 'Choose at least one numeric column.',
  summary: (kind: string, series: readonly string[], across: string) =>
    `${kind}: ${series.join(', ')} by ${across}.`,
  range: (series: string, low: string, lowAt: string, high: string, highAt: string) =>
    `${series}: lowest ${low} at ${lowAt}, highest ${high} at ${highAt}.`,
  points: (points: number) => count(points, 'point', 'points'),
  value: (name: string, value: string) => `${name}: ${value}`,
}
