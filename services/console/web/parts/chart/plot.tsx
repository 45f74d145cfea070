import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { onThemeChange, resolved } from './colours'
import { figure, stacked, valueText, type Points } from './series'
import type { ChartChoice } from './shape'
import { tickOf, timeText, timeTicks } from './time-axis'

const HEIGHT = 340
/** Width of the name of a time with the space beside it. */
const LABEL_WIDTH = 110
/** Series differ by their dashes as well as by their colours. */
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4], [12, 4], [6, 2, 2, 2, 2, 2]]

interface Props {
  readonly points: Points
  readonly choice: ChartChoice
  readonly across: string
}

/** Draws lines or points. The drawing is for eyes only; the summary and the table say the same. */
export function Plot({ points, choice, across }: Props) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const node = host.current
    if (!node) return
    let plot: uPlot | null = null
    const draw = (): void => {
      plot?.destroy()
      plot = new uPlot(optionsOf(node, points, choice, across), dataOf(points, choice), node)
    }
    const resized = new ResizeObserver(() => plot?.setSize({ width: node.clientWidth, height: HEIGHT }))
    draw()
    resized.observe(node)
    const stop = onThemeChange(draw)
    return () => {
      stop()
      resized.disconnect()
      plot?.destroy()
    }
  }, [points, choice])
  return <div class="chart-plot" ref={host} aria-hidden="true" />
}

function dataOf({ across, series }: Points, { stacked: isStacked }: ChartChoice): uPlot.AlignedData {
  return [across, ...(isStacked ? stacked(series) : series)] as uPlot.AlignedData
}

function optionsOf(node: HTMLElement, points: Points, choice: ChartChoice, across: string): uPlot.Options {
  const [ink, faint] = [resolved('--muted'), resolved('--faint')]
  const font = `12px ${getComputedStyle(node).fontFamily}`
  const axis: uPlot.Axis = {
    stroke: ink,
    font,
    grid: { stroke: faint, width: 1 },
    ticks: { stroke: faint, width: 1 },
  }
  return {
    width: Math.max(200, node.clientWidth),
    height: HEIGHT,
    scales: { x: { time: points.isTime } },
    axes: [points.isTime ? { ...axis, ...timeAxis(points.across) } : axis, { ...axis, size: sizeOfLabels }],
    series: [{ label: across, value: (_: uPlot, at: number | null) => placeText(at, points.isTime) }, ...points.labels.map((label, place) => seriesOf(label, place, points, choice))],
    ...(choice.stacked
      ? { bands: points.labels.slice(1).map((_, place) => ({ series: [place + 2, place + 1] })) }
      : {}),
    cursor: { drag: { x: true, y: false } },
  } as uPlot.Options
}

/** The name of the place under the pointer; the legend has none while it is elsewhere. */
const placeText = (at: number | null | undefined, isTime: boolean): string => (typeof at !== 'number' ? '' : isTime ? timeText(at) : figure([at]))

const timeAxis = (across: readonly number[]): uPlot.Axis => ({
  splits: (plot, _, low, high) => timeTicks(across, low, high, Math.max(2, Math.floor(plot.bbox.width / devicePixelRatio / LABEL_WIDTH))),
  values: (_, splits) => splits.map((at) => tickOf(at, splits)),
})

function seriesOf(label: string, place: number, { points }: Points, { kind, stacked: isStacked }: ChartChoice): uPlot.Series {
  const value = (_plot: uPlot, _number: number | null, _series: number, at: number | null): string => valueText(points[at ?? -1], place)
  const colour = resolved(`--chart-${(place % 8) + 1}`)
  if (kind === 'scatter') {
    return {
      label,
      value,
      stroke: colour,
      paths: () => null,
      points: { show: true, size: 6, stroke: colour, fill: `${colour}` },
    }
  }
  const dash = DASHES[place % DASHES.length] ?? []
  const fill = isStacked ? { fill: resolved(`--chart-${(place % 8) + 1}`, 0.35) } : {}
  return { label, value, stroke: colour, width: 2, dash, spanGaps: true, ...fill }
}

/** Makes the axis as wide as its longest label. */
function sizeOfLabels(plot: uPlot, labels: string[] | null): number {
  if (!labels) return 50
  const longest = labels.reduce((found, label) => (label?.length > found.length ? label : found), '')
  return Math.max(40, plot.ctx.measureText(longest).width / devicePixelRatio + 22)
}
