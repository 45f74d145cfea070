import type { ComponentChildren } from 'preact'
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
  const at = Math.max(
    0,
    lines.findIndex(({ key }) => key === active),
  )
  const measure = (): void => {
    const node = host.current
    if (node) setView({ top: node.scrollTop, height: node.clientHeight })
  }
  useEffect(() => {
    const node = host.current
    if (!node) return
    const resized = new ResizeObserver(measure)
    resized.observe(node)
    return () => resized.disconnect()
  }, [])
  useEffect(() => {
    if (selected === null) return
    setActive(selected)
    const place = lines.findIndex(({ key }) => key === selected)
    if (place >= 0) reveal(host.current, place)
  }, [selected])
  const move = (to: number): void => {
    const line = lines[Math.max(0, Math.min(lines.length - 1, to))]
    if (!line) return
    setActive(line.key)
    reveal(host.current, lines.indexOf(line))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const line = lines[at]
    if (!line || event.ctrlKey || event.metaKey || event.altKey) return
    const to = target(event.key, lines, at, Math.floor(view.height / LINE))
    if (to !== null) move(to)
    else if (event.key === 'ArrowRight' && line.open === false) onToggle(line.key, true)
    else if (event.key === 'ArrowRight' && line.open) move(at + 1)
    else if (event.key === 'ArrowLeft' && line.open) onToggle(line.key, false)
    else if (event.key === 'ArrowLeft') move(parentOf(lines, at))
    else if (event.key === 'Enter' || event.key === ' ') choose(line)
    else return
    event.preventDefault()
  }
  const choose = (line: TreeLine): void => {
    if (line.open !== undefined) onToggle(line.key, !line.open)
    else if (!line.disabled) onChoose(line.key)
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
          <div
            key={line.key}
            id={`${id}-${from + place}`}
            role="treeitem"
            class={`tree-line ${from + place === at ? 'is-active' : ''}`}
            aria-level={line.level}
            aria-selected={line.key === selected}
            {...(line.open !== undefined && { 'aria-expanded': line.open })}
            {...(line.disabled && { 'aria-disabled': true })}
            {...(line.hint && { title: line.hint })}
            style={{
              insetBlockStart: `${(from + place) * LINE}px`,
              paddingInlineStart: `${line.level * 14 - 6}px`,
            }}
            onClick={() => {
              setActive(line.key)
              choose(line)
            }}
          >
            {line.content}
          </div>
        ))}
      </div>
    </div>
  )
}

/** The line that the line at a place is below of, or the line itself. */
function parentOf(lines: readonly TreeLine[], at: number): number {
  const parent = lines.findLastIndex(({ level }, place) => place < at && level < (lines[at]?.level ?? 1))
  return parent < 0 ? at : parent
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
