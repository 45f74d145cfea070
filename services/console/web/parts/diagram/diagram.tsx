import { useMemo, useRef } from 'preact/hooks'
import { relations as texts } from '../../text/schema'
import { IconButton } from '../button'
import { fitting, LINE_HEIGHT, pathOf, placed, TITLE_HEIGHT } from './layout'
import type { Box, Edge, Placed, PlacedBox } from './layout'
import { keyMoves, useDrag, useView } from './use-view'
import { ZOOM, type View } from './view'

interface Props {
  readonly boxes: readonly Box[]
  readonly edges: readonly Edge[]
  /** The box in the middle of interest. */
  readonly current: string | null
  readonly label: string
  readonly onChoose: (key: string) => void
}

/** Boxes and the lines between them. Moved and magnified by pointer, buttons and keys. */
export default function Diagram({ boxes, edges, current, label, onChoose }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const drawing = useMemo(() => placed(boxes, edges), [boxes, edges])
  const { view, setView, fit, zoom } = useView(host, drawing)
  const drag = useDrag(view, setView)
  return (
    <div class="diagram">
      <div class="diagram-buttons">
        <IconButton icon="plus" name={texts.zoomIn} tip="end" onClick={() => zoom(ZOOM)} />
        <IconButton icon="minus" name={texts.zoomOut} tip="end" onClick={() => zoom(1 / ZOOM)} />
        <IconButton icon="home" name={texts.fit} tip="end" onClick={fit} />
      </div>
      <div
        ref={host}
        class="diagram-window"
        role="img"
        aria-label={label}
        tabIndex={0}
        onKeyDown={(event) => {
          const move = keyMoves(setView, zoom, fit)[event.key]
          if (!move || event.ctrlKey || event.metaKey || event.altKey) return
          event.preventDefault()
          move()
        }}
        onPointerDown={drag.start}
        onPointerMove={drag.move}
        onClick={(event) => {
          const box = event.target instanceof Element ? event.target.closest<SVGElement>('[data-key]') : null
          if (!drag.end() && box?.dataset.key !== undefined) onChoose(box.dataset.key)
        }}
      >
        <Drawing drawing={drawing} view={view} current={current} />
      </div>
    </div>
  )
}

interface DrawingProps {
  readonly drawing: Placed
  readonly view: View
  readonly current: string | null
}

function Drawing({ drawing, view, current }: DrawingProps) {
  return (
    <svg width="100%" height="100%" aria-hidden="true" focusable="false">
      <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
        {drawing.edges.map((edge, place) => (
          <path
            key={place}
            class={edge.from === current || edge.to === current ? 'diagram-edge is-current' : 'diagram-edge'}
            d={pathOf(edge.points) + toesOf(edge.points)}
          />
        ))}
        {drawing.boxes.map((box) => (
          <BoxDrawing key={box.key} box={box} isCurrent={box.key === current} />
        ))}
      </g>
    </svg>
  )
}

/** The path of a foot with toes at the side that has many rows. */
function toesOf([first, second]: readonly { readonly x: number; readonly y: number }[]): string {
  if (!first || !second) return ''
  const side = second.x >= first.x ? 10 : -10
  return [-5, 5].map((toe) => `M${first.x},${first.y + toe}L${first.x + side},${first.y}`).join('')
}

function BoxDrawing({ box, isCurrent }: { readonly box: PlacedBox; readonly isCurrent: boolean }) {
  const { x, y, width, height, title, lines, key } = box
  return (
    <g
      data-key={key}
      class={`diagram-box${isCurrent ? ' is-current' : ''}${box.faint ? ' is-faint' : ''}`}
      transform={`translate(${x} ${y})`}
    >
      <title>{title}</title>
      <rect width={width} height={height} />
      <text class="diagram-title" x={12} y={TITLE_HEIGHT / 2 + 5}>
        {fitting(title, width)}
      </text>
      {lines.length > 0 && <line x1={0} x2={width} y1={TITLE_HEIGHT} y2={TITLE_HEIGHT} />}
      {lines.map((line, place) => (
        <text key={place} x={12} y={TITLE_HEIGHT + (place + 1) * LINE_HEIGHT}>
          {fitting(line, width)}
        </text>
      ))}
    </g>
  )
}
