import type { RefObject, TargetedPointerEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Placed } from './layout'
import { fitted, PAN, panned, zoomed, ZOOM, type View } from './view'

type Change = (change: View | ((before: View) => View)) => void

/** Pixels that a pointer moves before it drags instead of choosing. */
const DRAGS = 4

/** Keeps the part of a drawing that its window shows. It begins with the whole. */
export function useView(host: RefObject<HTMLElement | null>, drawing: Placed) {
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 })
  const size = () => ({ width: host.current?.clientWidth ?? 600, height: host.current?.clientHeight ?? 400 })
  const fit = (): void => setView(fitted(drawing, size()))
  const middle = () => ({ x: size().width / 2, y: size().height / 2 })
  const zoom = (factor: number): void => setView((before) => zoomed(before, factor, middle()))
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
      setView((before) => zoomed(before, Math.exp(-event.deltaY / 300), at))
    }
    node.addEventListener('wheel', wheel, { passive: false })
    return () => node.removeEventListener('wheel', wheel)
  }, [])
  return { view, setView, fit, zoom }
}

/** Keys that move a drawing or change its size. */
export function keyMoves(
  setView: Change,
  zoom: (factor: number) => void,
  fit: () => void,
): Record<string, () => void> {
  const pan = (x: number, y: number) => () => setView((before) => panned(before, x, y))
  return {
    ArrowLeft: pan(PAN, 0),
    ArrowRight: pan(-PAN, 0),
    ArrowUp: pan(0, PAN),
    ArrowDown: pan(0, -PAN),
    '+': () => zoom(ZOOM),
    '=': () => zoom(ZOOM),
    '-': () => zoom(1 / ZOOM),
    Home: fit,
  }
}

/** Moves a drawing with the pointer. `end` tells if the pointer has moved it. */
export function useDrag(view: View, setView: Change) {
  const drag = useRef<{ x: number; y: number; view: View; moved: boolean } | null>(null)
  return {
    start: (event: TargetedPointerEvent<HTMLElement>): void => {
      if (event.button === 0) drag.current = { x: event.clientX, y: event.clientY, view, moved: false }
    },
    move: (event: TargetedPointerEvent<HTMLElement>): void => {
      const begun = drag.current
      if (!begun || event.buttons === 0) return
      const [x, y] = [event.clientX - begun.x, event.clientY - begun.y]
      if (!begun.moved && Math.hypot(x, y) > DRAGS) {
        begun.moved = true
        event.currentTarget.setPointerCapture(event.pointerId)
      }
      if (begun.moved) setView(panned(begun.view, x, y))
    },
    end: (): boolean => {
      const moved = drag.current?.moved ?? false
      drag.current = null
      return moved
    },
  }
}
