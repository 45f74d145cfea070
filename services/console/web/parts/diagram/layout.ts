import { graphlib, layout } from '@dagrejs/dagre'

/** A box of a diagram. */
export interface Box {
  readonly key: string
  readonly title: string
  /** Lines below the title. */
  readonly lines: readonly string[]
  /** Is true for a box beside what is shown. */
  readonly faint?: boolean
}

/** A line from one box to another. */
export interface Edge {
  readonly from: string
  readonly to: string
  readonly label: string
}

export interface PlacedBox extends Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface PlacedEdge extends Edge {
  readonly points: readonly { readonly x: number; readonly y: number }[]
}

export interface Placed {
  readonly width: number
  readonly height: number
  readonly boxes: readonly PlacedBox[]
  readonly edges: readonly PlacedEdge[]
}

export const LINE_HEIGHT = 18
export const TITLE_HEIGHT = 28
/** Width of a character; the style sheet has the fixed-width font at 13 pixels. */
const CHARACTER = 7.9
const PADDING = 24
const MIN_WIDTH = 90
const MAX_WIDTH = 260
const MARGIN = 16

/** Places boxes from left to right, so that lines cross as little as possible. */
export function placed(boxes: readonly Box[], edges: readonly Edge[]): Placed {
  const graph = new graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'LR', nodesep: 22, ranksep: 70, marginx: MARGIN, marginy: MARGIN })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const box of boxes) graph.setNode(box.key, sizeOf(box))
  edges.forEach(({ from, to }, place) => {
    // A box that refers to itself gets a loop of its own, not one of the layout.
    if (from !== to) graph.setEdge(from, to, {}, String(place))
  })
  layout(graph)
  const placedBoxes = boxes.map((box) => {
    const { x, y, width, height } = graph.node(box.key) as {
      x: number
      y: number
      width: number
      height: number
    }
    return { ...box, x: x - width / 2, y: y - height / 2, width, height }
  })
  const byKey = new Map(placedBoxes.map((box) => [box.key, box]))
  const placedEdges = edges.map((edge, place) => ({
    ...edge,
    points: edge.from === edge.to ? loop(byKey.get(edge.from)) : pointsOf(graph, edge, place),
  }))
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  return {
    width: Math.max(width, MIN_WIDTH),
    height: Math.max(height, TITLE_HEIGHT),
    boxes: placedBoxes,
    edges: placedEdges,
  }
}

function pointsOf(graph: graphlib.Graph, { from, to }: Edge, place: number): PlacedEdge['points'] {
  const found = graph.edge({ v: from, w: to, name: String(place) }) as
    | { points?: PlacedEdge['points'] }
    | undefined
  return found?.points ?? []
}

function loop(box: PlacedBox | undefined): PlacedEdge['points'] {
  if (!box) return []
  const right = box.x + box.width
  const y = box.y + TITLE_HEIGHT / 2
  return [
    { x: right, y },
    { x: right + 18, y },
    { x: right + 18, y: y + 22 },
    { x: right, y: y + 22 },
  ]
}

function sizeOf({ title, lines }: Box): { width: number; height: number } {
  const longest = Math.max(title.length + 1, ...lines.map((line) => line.length))
  const width = Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, longest * CHARACTER + PADDING))
  return { width, height: TITLE_HEIGHT + lines.length * LINE_HEIGHT + (lines.length > 0 ? 8 : 0) }
}

/** Characters of a text that fit into a box. */
export function fitting(text: string, width: number): string {
  const most = Math.floor((width - PADDING) / CHARACTER)
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

/** A path with rounded corners through points. */
export function pathOf(points: PlacedEdge['points']): string {
  const [first, ...rest] = points
  if (!first) return ''
  let path = `M${first.x},${first.y}`
  rest.forEach((point, place) => {
    const next = rest[place + 1]
    if (!next) path += `L${point.x},${point.y}`
    else path += `Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}`
  })
  return path
}
