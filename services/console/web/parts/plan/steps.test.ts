import { expect, test } from 'vitest'
import type { PlanNode } from '../../api/explain'
import { findingsOf, stepsOf } from './steps'

const node = (part: Partial<PlanNode>): PlanNode => ({
  parent: null,
  label: 'Scan',
  rows_planned: null,
  rows: null,
  loops: null,
  ms: null,
  own_ms: null,
  hit: null,
  read: null,
  batches: null,
  sorted_on_disk: false,
  findings: [],
  ...part,
})

test('steps have the depth of the tree and shares of the whole time', () => {
  const steps = stepsOf([
    node({ own_ms: 10 }),
    node({ parent: 0, own_ms: 30 }),
    node({ parent: 1, own_ms: 0 }),
    node({ parent: 0 }),
  ])
  expect(steps.map(({ depth }) => depth)).toEqual([0, 1, 2, 1])
  expect(steps.map(({ share }) => share)).toEqual([0.25, 0.75, 0, 0])
})

test('estimates that are off by more than ten times are marked, in both directions', () => {
  const misjudged = (planned: number, rows: number, loops = 1) =>
    stepsOf([node({ rows_planned: planned, rows, loops })])[0]?.misjudged
  expect(misjudged(10, 100)).toBe(null)
  expect(misjudged(10, 101)).toEqual({ factor: 10.1, more: true })
  expect(misjudged(1000, 0)).toEqual({ factor: 1000, more: false })
  expect(misjudged(1000, 0, 0)).toBe(null)
})

test('findings lead to their steps', () => {
  const explained = {
    database: 'd',
    plan: '',
    issues: ['slow', 'disk'],
    recommendations: ['a'],
    nodes: [node({ findings: [1] }), node({ parent: 0, findings: [0] }), node({ parent: 0 })],
  }
  expect(findingsOf(explained)).toEqual([
    { issue: 'slow', advice: 'a', steps: [2] },
    { issue: 'disk', advice: null, steps: [1] },
  ])
})
