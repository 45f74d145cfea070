import type { Explained, PlanNode } from '../../api/explain'

/** Factor between planned and actual rows from which an estimate counts as wrong. */
const MISJUDGED = 10

/** A step of a plan as it is shown. */
export interface Step {
  readonly node: PlanNode
  readonly number: number
  readonly depth: number
  /** Own time as a part of the time of all steps. */
  readonly share: number
  /** Distance of the estimate from the rows of a loop; null if it was close, or not known. */
  readonly misjudged: { readonly factor: number; readonly more: boolean } | null
}

/** Returns the steps in the order of the plan, with depths and shares. */
export function stepsOf(nodes: readonly PlanNode[]): Step[] {
  const total = nodes.reduce((sum, { own_ms }) => sum + Math.max(0, own_ms ?? 0), 0)
  const depths: number[] = []
  return nodes.map((node, index) => {
    const depth = node.parent === null || node.parent >= index ? 0 : (depths[node.parent] ?? 0) + 1
    depths.push(depth)
    const share = total > 0 ? Math.max(0, node.own_ms ?? 0) / total : 0
    return { node, number: index + 1, depth, share, misjudged: misjudgedOf(node) }
  })
}

function misjudgedOf({ rows, rows_planned, loops }: PlanNode): Step['misjudged'] {
  if (rows === null || rows_planned === null || loops === 0) return null
  const [actual, planned] = [Math.max(1, rows), Math.max(1, rows_planned)]
  const factor = Math.max(actual / planned, planned / actual)
  return factor > MISJUDGED ? { factor, more: actual > planned } : null
}

/** A finding about a plan, with its advice and the steps that it is about. */
export interface Finding {
  readonly issue: string
  readonly advice: string | null
  readonly steps: readonly number[]
}

/** Ties findings to their steps. */
export function findingsOf({ issues, recommendations, nodes }: Explained): Finding[] {
  return issues.map((issue, place) => ({
    issue,
    advice: recommendations[place] ?? null,
    steps: nodes.flatMap(({ findings }, index) => (findings.includes(place) ? [index + 1] : [])),
  }))
}
