import { count, duration, number } from './format'

/** Texts of the plan of a statement. */
export const plan = {
  title: 'Plan nodes',
  step: 'Node',
  time: 'Self time',
  rows: 'Rows',
  blocks: 'Buffers',
  text: 'Plan as text',
  notRun: 'Plan only: the statement was not executed.',
  total: (milliseconds: number, steps: number) =>
    `${duration(milliseconds)} in ${count(steps, 'node', 'nodes')}`,
  findings: 'Findings',
  noFindings: 'No findings.',
  toStep: (step: number) => `Node ${number(step)}`,
  share: (milliseconds: number, share: number) =>
    `${duration(milliseconds)}, ${number(Math.round(share * 100))} %`,
  planned: (rows: number) => `${number(rows)} estimated`,
  actual: (rows: number) => number(rows),
  misjudged: (factor: number, more: boolean) =>
    `${number(Math.round(factor))} times ${more ? 'more' : 'fewer'} than estimated`,
  loops: (loops: number) => count(loops, 'loop', 'loops'),
  blocksOf: (hit: number, read: number) => `${number(hit)} hit, ${number(read)} read`,
  batches: (batches: number) => `${number(batches)} batches: did not fit in memory`,
  onDisk: 'sorted on disk',
  neverRun: 'never executed',
}
