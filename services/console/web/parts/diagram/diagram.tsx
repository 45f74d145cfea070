import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { relations as texts } from '../../text/schema'
import { IconButton } from '../button'
import {
  fitting,
  LINE_HEIGHT,
  pathOf,
  placed,
  TITLE_HEIGHT,
  type Box,
  type Edge,
  type PlacedBox,
} from './layout'
import { fitted, PAN, panned, zoomed, ZOOM, type View } from './view'

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
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 })
  const drag = useRef<{ x: number; y: number; view: View; moved: boolean } | null>(null)

  const size = () => ({ width: host.current?.clientWidth ?? 600, height: host.current?.clientHeight ?? 400 })
  const fit = (): void => setView(fitted(drawing, size()))
  const middle = () => ({ x: size().width / 2, y: size().height / 2 })
  const zoom = (factor: number): void => setView((old) => zoomed(old, factor, middle()))

  useEffect(fit, [drawing])
  useEffect(() => {
    const node = host.current
    if (!node) return
    // Only with Ctrl, which a pinch sends as well, so that the page can be scrolled past the diagram.
    const wheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      const { left, top } = node.getBoundingClientRect()
      const at = { x: event.clientX - left, y: event.clientY - top }
      setView((old) => zoomed(old, Math.exp(-event.deltaY / 300), at))
    }
    node.addEventListener('wheel', wheel, { passive: false })
    return () => node.removeEventListener('wheel', wheel)
  }, [])

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const moves: Record<string, () => void> = {
      ArrowLeft: () => setView((old) => panned(old, PAN, 0)),
      ArrowRight: () => setView((old) => panned(old, -PAN, 0)),
      ArrowUp: () => setView((old) => panned(old, 0, PAN)),
      ArrowDown: () => setView((old) => panned(old, 0, -PAN)),
      '+': () => zoom(ZOOM),
      '=': () => zoom(ZOOM),
      '-': () => zoom(1 / ZOOM),
      Home: fit,
    }
    const move = moves[event.key]
    if (!move) return
    event.preventDefault()
    move()
  }
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
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          if (event.button !== 0) return
          drag.current = { x: event.clientX, y: event.clientY, view, moved: false }
        }}
        onPointerMove={(event) => {
          const start = drag.current
          if (!start || event.buttons === 0) return
          const [x, y] = [event.clientX - start.x, event.clientY - start.y]
          if (!start.moved && Math.hypot(x, y) > 4) {
            start.moved = true
            event.currentTarget.setPointerCapture(event.pointerId)
          }
          if (start.moved) setView(panned(start.view, x, y))
        }}
        onPointerUp={() => (drag.current = drag.current?.moved ? drag.current : null)}
        onClick={(event) => {
          const moved = drag.current?.moved ?? false
          drag.current = null
          const box = event.target instanceof Element ? event.target.closest<SVGElement>('[data-key]') : null
          if (!moved && box?.dataset.key !== undefined) onChoose(box.dataset.key)
        }}
      >
        <svg width="100%" height="100%" aria-hidden="true" focusable="false">
          <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
            {drawing.edges.map((edge, place) => (
              <path
                key={place}
                class={
                  edge.from === current || edge.to === current ? 'diagram-edge is-current' : 'diagram-edge'
                }
                d={pathOf(edge.points) + toesOf(edge.points)}
              />
            ))}
            {drawing.boxes.map((box) => (
              <BoxDrawing key={box.key} box={box} isCurrent={box.key === current} />
            ))}
          </g>
        </svg>
      </div>
    </div>
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
      class={isCurrent ? 'diagram-box is-current' : 'diagram-box'}
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
