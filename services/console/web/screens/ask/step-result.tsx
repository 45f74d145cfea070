import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { ProblemBanner } from '../../parts/banner'
import { type ChartKind, kindsFor } from '../../parts/chart/shape'
import { ChoiceButtons } from '../../parts/choice'
import { Foreign } from '../../parts/foreign'
import type { Rows as GridRows } from '../../parts/grid/rows'
import { Loading } from '../../parts/loading'
import { type Rows, rowsOfStructure, rowsOfText, typedRows } from '../../parts/rows'
import { ask as text } from '../../text/ask'
import type { Step } from './turns'

const SHOWN_ROWS = 100

/** Finds the table in the result of a step. */
export const tableOf = (step: Step): Rows | null => rowsOfStructure(step.structured) ?? rowsOfText(step.text)

/** The cell that a number of an answer leads to. */
export const shownCell = signal<{ step: string; cell: string } | null>(null)

/** The rows of a step as a table, or as a chart where one fits them. */
export function StepResult({ step, rows, name }: { step: Step; rows: Rows; name: string }) {
  const [view, setView] = useState<ChartKind | 'table'>('table')
  const typed = useMemo(() => typedRows(rows), [rows])
  const kinds = useMemo(() => kindsFor(typed), [typed])
  const wanted = shownCell.value?.step === step.id ? shownCell.value.cell : null
  useEffect(() => {
    if (!wanted) return
    setView('table')
    // The table is there after the next paint, if a chart was shown.
    requestAnimationFrame(() => {
      const cell = document.getElementById(wanted)
      cell?.scrollIntoView({ block: 'center' })
      cell?.focus()
      shownCell.value = null
    })
  }, [wanted])
  return (
    <>
      {kinds.length > 0 && (
        <ChoiceButtons label={text.view} choices={(['table', ...kinds] as const).map((value) => ({ value, label: text.views[value] }))} value={view} onChoose={setView} />
      )}
      {view === 'table' ? <StepTable step={step} rows={rows} name={name} /> : <StepChart rows={typed} kind={view} />}
    </>
  )
}

type ChartComponent = ComponentType<{ rows: GridRows; kind?: ChartKind | undefined }>

/** A chart of a step. Its code is loaded when the first one is shown. */
function StepChart({ rows, kind }: { rows: GridRows; kind: ChartKind }) {
  const [loaded, setLoaded] = useState<{ Chart: ChartComponent } | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  useEffect(() => {
    import('../../parts/chart/chart').then(({ Chart }) => setLoaded({ Chart }), setProblem)
  }, [])
  if (problem) return <ProblemBanner problem={problem} />
  return <div class="ask-chart">{loaded ? <loaded.Chart rows={rows} kind={kind} /> : <Loading lines={4} />}</div>
}

function StepTable({ step, rows: { columns, rows }, name }: { step: Step; rows: Rows; name: string }) {
  return (
    <div class="ask-table" tabIndex={0} role="region" aria-label={name}>
      <table>
        <thead>
          <tr>
            {columns.map((name, at) => (
              <th key={at} scope="col">
                <Foreign text={name} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, SHOWN_ROWS).map((row, line) => (
            <tr key={line}>
              {row.map((cell, at) => (
                <td key={at} id={cellId(step, line, at)} class={/^-?[\d.]+$/.test(cell) ? 'number' : ''} tabIndex={-1}>
                  {cell === 'NULL' ? <span class="muted">NULL</span> : <Foreign text={cell} />}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const cellId = (step: Step, row: number, column: number) => `cell-${step.id}-${row}-${column}`

/** Finds the cell of a number among the results of an answer, and shows it. */
export function cellFinder(steps: readonly Step[]): (number: string) => (() => void) | null {
  const cells = new Map<string, { step: string; cell: string }>()
  for (const step of steps) {
    if (step.state !== 'done') continue
    tableOf(step)
      ?.rows.slice(0, SHOWN_ROWS)
      .forEach((row, line) => row.forEach((cell, at) => cells.set(plain(cell), { step: step.id, cell: cellId(step, line, at) })))
  }
  return (number) => {
    const id = cells.get(plain(number))
    return id === undefined
      ? null
      : () => {
          shownCell.value = id
        }
  }
}

const plain = (number: string): string => {
  const value = Number(number.replaceAll(',', ''))
  return Number.isFinite(value) && number.trim() !== '' ? String(value) : `text ${number}`
}
