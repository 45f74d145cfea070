import { count, number } from './format'

/** Texts of charts. */
export const chart = {
  kind: 'Form',
  kinds: { line: 'Line', bars: 'Bars', scatter: 'Points', value: 'Value' },
  across: 'Along the bottom',
  names: 'Names',
  series: 'Numbers',
  split: 'One series for each',
  noSplit: 'No column',
  stacked: 'Stacked',
  others: 'others',
  othersNote: (names: number, shown: number) =>
    `The ${number(shown)} largest names are shown; ${count(names, 'name is', 'names are')} added up as others; a bar of others that is too long is cut off.`,
  grouped: 'Rows with the same name are added up.',
  left: (rows: number) =>
    `${count(rows, 'row has', 'rows have')} no place along the bottom and are left out.`,
  none: 'No chart fits these rows',
  noneText: 'A chart needs a column with numbers, and times or a few names beside it. Choose columns above.',
  table: 'The numbers as a table',
  tableCut: (shown: number) => `The first ${number(shown)}. The view Rows has all of them.`,
  noSeries: 'Choose at least one column with numbers.',
  summary: (kind: string, series: readonly string[], across: string) =>
    `${kind}: ${series.join(', ')} by ${across}.`,
  range: (series: string, low: string, lowAt: string, high: string, highAt: string) =>
    `${series}: lowest ${low} at ${lowAt}, highest ${high} at ${highAt}.`,
  points: (points: number) => count(points, 'point', 'points'),
  value: (name: string, value: string) => `${name}: ${value}`,
}
