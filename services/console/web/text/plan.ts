import { count, duration, number } from './format'

/** Texts of the plan of a statement. */
export const plan = {
  title: 'Steps of the plan',
  step: 'Step',
  time: 'Own time',
  rows: 'Rows',
  blocks: 'Blocks',
  text: 'As text',
  notRun: 'Planned only: PostgreSQL has not run the statement.',
  total: (milliseconds: number, steps: number) =>
    `${duration(milliseconds)} in ${count(steps, 'step', 'steps')}`,
  findings: 'Findings',
  noFindings: 'Nothing stands out in this plan.',
  toStep: (step: number) => `Step ${number(step)}`,
  share: (milliseconds: number, share: number) =>
    `${duration(milliseconds)}, ${number(Math.round(share * 100))} %`,
  planned: (rows: number) => `${number(rows)} planned`,
  actual: (rows: number) => number(rows),
  misjudged: (factor: number, more: boolean) =>
    `${number(Math.round(factor))} times ${more ? 'more' : 'fewer'} than planned`,
  loops: (loops: number) => count(loops, 'loop', 'loops'),
  blocksOf: (hit: number, read: number) => `${number(hit)} cached, ${number(read)} read`,
  batches: (batches: number) => `${number(batches)} batches: did not fit into memory`,
  onDisk: 'sorted on disk',
  neverRun: 'never ran',
}
