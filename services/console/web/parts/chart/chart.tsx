import { useMemo, useState } from 'preact/hooks'
import { chart as texts } from '../../text/chart'
import { Empty } from '../facts'
import { Foreign } from '../foreign'
import { cellText } from '../grid/cell'
import type { Rows } from '../grid/rows'
import { BarList } from './bar-list'
import { ChartControls } from './chart-controls'
import { NumbersTable, type NumberRow } from './numbers-table'
import { Plot } from './plot'
import { barsOf, pointsOf, valueText, type Bars, type Points } from './series'
import { numericColumns, suggested, suggestedAs, type ChartChoice, type ChartKind } from './shape'
import { timeText } from './time-axis'

/** A chart of a result: suggested by its shape, and changed by the person; or only in one form. */
export function Chart({ rows, kind }: { readonly rows: Rows; readonly kind?: ChartKind | undefined }) {
  const first = useMemo(() => (kind ? suggestedAs(rows, kind) : suggested(rows)), [rows, kind])
  const [changed, setChanged] = useState<ChartChoice | null>(null)
  const choice = changed ?? first
  const fallback: ChartChoice = {
    kind: 'bars',
    across: 0,
    series: numericColumns(rows).slice(0, 1),
    split: null,
    stacked: false,
  }
  return (
    <div class="chart" tabIndex={0} role="region" aria-label={choice ? texts.kinds[choice.kind] : texts.none}>
      {!kind && choice?.kind !== 'value' && (
        <ChartControls rows={rows} choice={choice ?? fallback} onChoose={setChanged} />
      )}
      {!choice && (
        <Empty icon="chart" title={texts.none}>
          {texts.noneText}
        </Empty>
      )}
      {choice && <Drawing rows={rows} choice={choice} />}
    </div>
  )
}

function Drawing({ rows, choice }: { readonly rows: Rows; readonly choice: ChartChoice }) {
  const across = rows.columns[choice.across]?.name ?? ''
  if (choice.kind === 'value') return <Value rows={rows} />
  if (choice.series.length === 0) return <Empty icon="chart" title={texts.noSeries} />
  if (choice.kind === 'bars') return <BarChart rows={rows} choice={choice} across={across} />
  return <PointChart rows={rows} choice={choice} across={across} />
}

/** One value, large. */
function Value({ rows }: { readonly rows: Rows }) {
  const name = rows.columns[0]?.name ?? ''
  const cell = rows.all[0]?.[0] ?? null
  return (
    <figure class="chart-value">
      <p class="chart-number">
        <Foreign text={cell === null ? 'NULL' : cellText(cell)} />
      </p>
      <figcaption>
        <Foreign text={name} />
      </figcaption>
    </figure>
  )
}

interface DrawingProps {
  readonly rows: Rows
  readonly choice: ChartChoice
  readonly across: string
}

function BarChart({ rows, choice, across }: DrawingProps) {
  const bars = useMemo(() => barsOf(rows, choice, texts.others), [rows, choice])
  const lines: readonly NumberRow[] = bars.bars
  return (
    <figure>
      <BarList bars={bars} isStacked={choice.stacked} />
      <figcaption>
        <p>
          <Foreign text={texts.summary(texts.kinds.bars, bars.labels, across)} /> {barNotes(bars)}
        </p>
        <Ranges labels={bars.labels} rows={lines} />
      </figcaption>
      <NumbersTable across={across} labels={bars.labels} rows={lines} />
    </figure>
  )
}

function barNotes({ others, grouped, bars }: Bars): string {
  const notes = []
  if (others > 0) notes.push(texts.othersNote(others, bars.length - 1))
  if (grouped) notes.push(texts.grouped)
  return notes.join(' ')
}

function PointChart({ rows, choice, across }: DrawingProps) {
  const points = useMemo(() => pointsOf(rows, choice, texts.others), [rows, choice])
  const lines = numberRows(points)
  return (
    <figure>
      <Plot points={points} choice={choice} across={across} />
      <figcaption>
        <p>
          <Foreign text={texts.summary(texts.kinds[choice.kind], points.labels, across)} />{' '}
          {texts.points(points.across.length)}. {points.left > 0 && texts.left(points.left)}
        </p>
        <Ranges labels={points.labels} rows={lines} />
      </figcaption>
      <NumbersTable across={across} labels={points.labels} rows={lines} />
    </figure>
  )
}

function numberRows({ across, points, isTime }: Points): NumberRow[] {
  return points.map((point, place) => {
    const at = across[place] ?? 0
    return { ...point, name: isTime ? timeText(at) : String(at) }
  })
}

/** Says the lowest and the highest value of each series. */
function Ranges({
  labels,
  rows,
}: {
  readonly labels: readonly string[]
  readonly rows: readonly NumberRow[]
}) {
  return (
    <ul class="chart-ranges">
      {labels.map((label, place) => {
        const known = rows.filter(({ values }) => values[place] !== null && values[place] !== undefined)
        const [one] = known
        if (!one) return null
        const value = (row: NumberRow): number => row.values[place] ?? 0
        const low = known.reduce((found, row) => (value(row) < value(found) ? row : found), one)
        const high = known.reduce((found, row) => (value(row) > value(found) ? row : found), one)
        const text = (row: NumberRow): string => valueText(row, place)
        return (
          <li key={label}>
            <Foreign text={texts.range(label, text(low), low.name, text(high), high.name)} />
          </li>
        )
      })}
    </ul>
  )
}
