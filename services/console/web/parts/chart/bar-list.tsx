import { Foreign } from '../foreign'
import { type Bars, valueText } from './series'

interface Props {
  readonly bars: Bars
  readonly isStacked: boolean
}

/** Bars beside their names. The values stand at their ends, so no axis is needed. */
export function BarList({ bars: { labels, bars, others }, isStacked }: Props) {
  // The sum of the others would make all named bars small: it is cut off instead.
  const [low, high] = extent(others > 0 ? bars.slice(0, -1) : bars, isStacked)
  const span = high - low || 1
  const zero = (-low / span) * 100
  return (
    <div class="bar-list" aria-hidden="true">
      {labels.length > 1 && <Legend labels={labels} />}
      {bars.map(({ name, ...sum }) => (
        <div key={name} class="bar-row">
          <span class="bar-name">
            <Foreign text={name} />
          </span>
          {isStacked ? (
            <Line values={sum.values} text={valueText(sum, null)} span={span} zero={zero} />
          ) : (
            <span class="bar-group">
              {sum.values.map((value, place) => (
                <Line key={place} values={[value]} first={place} text={valueText(sum, place)} span={span} zero={zero} />
              ))}
            </span>
          )}
        </div>
      ))}
    </div>
  )
}

function Legend({ labels }: { readonly labels: readonly string[] }) {
  return (
    <ul class="bar-legend">
      {labels.map((label, place) => (
        <li key={label}>
          <span class={`bar-sign series-${(place % 8) + 1}`} /> <Foreign text={label} />
        </li>
      ))}
    </ul>
  )
}

interface LineProps {
  readonly values: readonly (number | null)[]
  /** Series of the first value. */
  readonly first?: number
  readonly text: string
  readonly span: number
  /** Place of zero, in percent. */
  readonly zero: number
}

/** Bars one behind the other on both sides of zero, and their value. */
function Line({ values, first = 0, text, span, zero }: LineProps) {
  let [above, below] = [zero, zero]
  return (
    <span class="bar-line">
      <span class="bar-track">
        {values.map((value, place) => {
          const length = (Math.abs(value ?? 0) / span) * 100
          const isNegative = (value ?? 0) < 0
          const start = isNegative ? (below -= length) : above
          if (!isNegative) above += length
          const style = { insetInlineStart: `${start}%`, inlineSize: `${length}%` }
          return <span key={place} class={`bar series-${((first + place) % 8) + 1}`} style={style} />
        })}
      </span>
      <span class="bar-value">{text || '0'}</span>
    </span>
  )
}

/** The lowest and highest end of a bar; zero is always between them. */
function extent(bars: Bars['bars'], isStacked: boolean): [number, number] {
  let [low, high] = [0, 0]
  for (const { values } of bars) {
    const numbers = values.map((value) => value ?? 0)
    const ends = isStacked
      ? [sum(numbers.filter((value) => value < 0)), sum(numbers.filter((value) => value > 0))]
      : numbers
    low = Math.min(low, ...ends)
    high = Math.max(high, ...ends)
  }
  return [low, high]
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, value) => total + value, 0)
