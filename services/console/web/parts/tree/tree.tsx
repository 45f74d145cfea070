import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

/** Height of a line in pixels; the style sheet has the same. */
const LINE = 30
/** Lines painted above and below those that can be seen. */
const SPARE = 8

/** A line of a tree. The lines below an open one follow it. */
export interface TreeLine {
  readonly key: string
  readonly level: number
  readonly content: ComponentChildren
  /** Text that letters find. */
  readonly text: string
  /** Absent for lines without others below. */
  readonly open?: boolean
  readonly disabled?: boolean
  /** Shown under the pointer. */
  readonly hint?: string
}

interface Props {
  readonly label: string
  readonly lines: readonly TreeLine[]
  readonly selected: string | null
  readonly onChoose: (key: string) => void
  readonly onToggle: (key: string, open: boolean) => void
}

/** A tree of any size with one tab stop. Only the lines that can be seen are in the document. */
export function Tree({ label, lines, selected, onChoose, onToggle }: Props) {
  const id = useId()
  const host = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const [active, setActive] = useState<string | null>(selected)
  const at = Math.max(0, placeOf(lines, active))
  const measure = useWindow(host, setView)
  useEffect(() => {
    if (selected === null) return
    setActive(selected)
    const place = placeOf(lines, selected)
    if (place >= 0) reveal(host.current, place)
  }, [selected])
  const move = (to: number): void => {
    const line = lines[Math.max(0, Math.min(lines.length - 1, to))]
    if (!line) return
    setActive(line.key)
    reveal(host.current, lines.indexOf(line))
  }
  const choose = (line: TreeLine): void => {
    if (line.open !== undefined) onToggle(line.key, !line.open)
    else if (!line.disabled) onChoose(line.key)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.floor(view.height / LINE)
    if (press(event.key, { lines, at, page, move, choose, onToggle })) event.preventDefault()
  }
  const from = Math.max(0, Math.floor(view.top / LINE) - SPARE)
  const to = Math.min(lines.length, Math.ceil((view.top + view.height) / LINE) + SPARE)
  return (
    <div
      ref={host}
      class="tree"
      role="tree"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={at >= from && at < to ? `${id}-${at}` : undefined}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      <div class="tree-body" role="none" style={{ blockSize: `${lines.length * LINE}px` }}>
        {lines.slice(from, to).map((line, place) => (
          <Line
            key={line.key}
            line={line}
            id={`${id}-${from + place}`}
            place={from + place}
            isActive={from + place === at}
            isSelected={line.key === selected}
            onClick={() => {
              setActive(line.key)
              choose(line)
            }}
          />
        ))}
      </div>
    </div>
  )
}

const placeOf = (lines: readonly TreeLine[], wanted: string | null): number =>
  lines.findIndex(({ key }) => key === wanted)

interface LineProps {
  readonly line: TreeLine
  readonly id: string
  readonly place: number
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly onClick: () => void
}

function Line({ line, id, place, isActive, isSelected, onClick }: LineProps) {
  return (
    <div
      id={id}
      role="treeitem"
      class={`tree-line ${isActive ? 'is-active' : ''}`}
      aria-level={line.level}
      aria-selected={isSelected}
      {...(line.open !== undefined && { 'aria-expanded': line.open })}
      {...(line.disabled && { 'aria-disabled': true })}
      {...(line.hint && { title: line.hint })}
      style={{ insetBlockStart: `${place * LINE}px`, paddingInlineStart: `${line.level * 14 - 6}px` }}
      onClick={onClick}
    >
      {line.content}
    </div>
  )
}

interface Shown {
  readonly top: number
  readonly height: number
}

/** Follows the size of an element. Returns what measures it again, for scrolling. */
function useWindow(host: RefObject<HTMLElement | null>, setShown: (shown: Shown) => void): () => void {
  const measure = (): void => {
    const node = host.current
    if (node) setShown({ top: node.scrollTop, height: node.clientHeight })
  }
  useEffect(() => {
    const node = host.current
    if (!node) return
    const resized = new ResizeObserver(measure)
    resized.observe(node)
    return () => resized.disconnect()
  }, [])
  return measure
}

/** The line that the line at a place is below of, or the line itself. */
function parentOf(lines: readonly TreeLine[], at: number): number {
  const parent = lines.findLastIndex(({ level }, place) => place < at && level < (lines[at]?.level ?? 1))
  return parent < 0 ? at : parent
}

interface Keys {
  readonly lines: readonly TreeLine[]
  /** The place of the active line. */
  readonly at: number
  readonly page: number
  readonly move: (to: number) => void
  readonly choose: (line: TreeLine) => void
  readonly onToggle: (key: string, open: boolean) => void
}

/** Does what a key does in a tree. Returns false for other keys. */
function press(key: string, { lines, at, page, move, choose, onToggle }: Keys): boolean {
  const line = lines[at]
  const to = target(key, lines, at, page)
  if (!line) return false
  if (to !== null) move(to)
  else if (key === 'ArrowRight' && line.open === false) onToggle(line.key, true)
  else if (key === 'ArrowRight' && line.open) move(at + 1)
  else if (key === 'ArrowLeft' && line.open) onToggle(line.key, false)
  else if (key === 'ArrowLeft') move(parentOf(lines, at))
  else if (key === 'Enter' || key === ' ') choose(line)
  else return false
  return true
}

function target(key: string, lines: readonly TreeLine[], at: number, page: number): number | null {
  if (key === 'ArrowDown') return at + 1
  if (key === 'ArrowUp') return at - 1
  if (key === 'Home') return 0
  if (key === 'End') return lines.length - 1
  if (key === 'PageDown') return at + page
  if (key === 'PageUp') return at - page
  if (key.length !== 1 || key === ' ') return null
  const order = [...lines.keys()].map((place) => (at + 1 + place) % lines.length)
  return order.find((place) => lines[place]?.text.toLowerCase().startsWith(key.toLowerCase())) ?? null
}

function reveal(node: HTMLElement | null, place: number): void {
  if (!node) return
  const top = place * LINE
  if (top < node.scrollTop) node.scrollTop = top
  else if (top + LINE > node.scrollTop + node.clientHeight) node.scrollTop = top + LINE - node.clientHeight
}
