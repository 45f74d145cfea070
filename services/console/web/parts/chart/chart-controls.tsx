import { chart as texts } from '../../text/chart'
import { Select, Switch } from '../field'
import { Foreign } from '../foreign'
import type { Rows } from '../grid/rows'
import {
  MAX_SERIES,
  nameColumns,
  numericColumns,
  sound,
  timeColumns,
  type ChartChoice,
  type ChartKind,
} from './shape'

interface Props {
  readonly rows: Rows
  readonly choice: ChartChoice
  readonly onChoose: (choice: ChartChoice) => void
}

const KINDS: readonly ChartKind[] = ['line', 'bars', 'scatter']

/** Changes the form, the columns and the stacking of a chart. */
export function ChartControls({ rows, choice, onChoose }: Props) {
  const numbers = numericColumns(rows)
  const named = (columns: readonly number[]) =>
    columns.map((column) => ({ value: String(column), label: rows.columns[column]?.name ?? '' }))
  const all = rows.columns.map((_, column) => column)
  const bottoms = choice.kind === 'bars' ? all : [...timeColumns(rows), ...numbers]
  const change = (part: Partial<ChartChoice>): void => onChoose(sound(rows, { ...choice, ...part }))
  return (
    <div class="chart-controls">
      <Select
        label={texts.kind}
        value={choice.kind}
        choices={KINDS.map((kind) => ({ value: kind, label: texts.kinds[kind] }))}
        onChoose={(kind) => change({ kind: kind as ChartKind })}
      />
      <Select
        label={choice.kind === 'bars' ? texts.names : texts.across}
        value={String(choice.across)}
        choices={named(bottoms)}
        onChoose={(column) => change({ across: Number(column) })}
      />
      <Select
        label={texts.split}
        value={choice.split === null ? '' : String(choice.split)}
        choices={[
          { value: '', label: texts.noSplit },
          ...named(nameColumns(rows).filter((column) => column !== choice.across)),
        ]}
        onChoose={(column) => change({ split: column === '' ? null : Number(column) })}
      />
      <fieldset class="chart-series">
        <legend>{texts.series}</legend>
        {numbers
          .filter((column) => column !== choice.across)
          .map((column) => (
            <label key={column}>
              <input
                type="checkbox"
                checked={choice.series.includes(column)}
                disabled={!choice.series.includes(column) && choice.series.length >= MAX_SERIES}
                onChange={() => change({ series: toggled(choice.series, column) })}
              />{' '}
              <Foreign text={rows.columns[column]?.name ?? ''} />
            </label>
          ))}
      </fieldset>
      {choice.kind !== 'scatter' && (
        <Switch label={texts.stacked} on={choice.stacked} onToggle={(stacked) => change({ stacked })} />
      )}
    </div>
  )
}

function toggled(series: readonly number[], column: number): number[] {
  const without = series.filter((other) => other !== column)
  return without.length < series.length ? without : [...series, column].sort((a, b) => a - b)
}
