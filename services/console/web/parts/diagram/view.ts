/** The part of a drawing that a window shows. */
export interface View {
  readonly x: number
  readonly y: number
  /** Pixels of the screen for one of the drawing. */
  readonly scale: number
}

interface Size {
  readonly width: number
  readonly height: number
}

const SMALLEST = 0.1
const LARGEST = 2.5
/** Magnification up to which a small drawing fills the window. */
const LARGEST_FIT = 1.4
/** Change of the size by one press of a button or key. */
export const ZOOM = 1.25
/** Pixels that an arrow key moves. */
export const PAN = 60

/** Shows the whole drawing in the middle; a small one is magnified a little. */
export function fitted(drawing: Size, window: Size): View {
  const scale = bounded(Math.min(LARGEST_FIT, window.width / drawing.width, window.height / drawing.height))
  return {
    scale,
    x: (window.width - drawing.width * scale) / 2,
    y: (window.height - drawing.height * scale) / 2,
  }
}

/** Changes the size around a point of the window, which stays where it is. */
export function zoomed(
  { x, y, scale }: View,
  factor: number,
  at: { readonly x: number; readonly y: number },
): View {
  const next = bounded(scale * factor)
  const change = next / scale
  return { scale: next, x: at.x - (at.x - x) * change, y: at.y - (at.y - y) * change }
}

export function panned(view: View, x: number, y: number): View {
  return { ...view, x: view.x + x, y: view.y + y }
}

const bounded = (scale: number): number => Math.max(SMALLEST, Math.min(LARGEST, scale))
