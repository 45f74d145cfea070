import { chart as texts } from '../../text/chart'
import { Foreign } from '../foreign'
import { type Summed, valueText } from './series'

/** Rows of the table in the document. */
const SHOWN = 200

/** A place along the bottom, or a name, with the value of each series. */
export interface NumberRow extends Summed {
  readonly name: string
}

interface Props {
  readonly across: string
  readonly labels: readonly string[]
  readonly rows: readonly NumberRow[]
}

/** The numbers behind a chart, folded. */
export function NumbersTable({ across, labels, rows }: Props) {
  return (
    <details class="chart-table">
      <summary>{texts.table}</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <Foreign text={across} />
            </th>
            {labels.map((label) => (
              <th key={label} scope="col" class="number">
                <Foreign text={label} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, SHOWN).map(({ name, ...sum }, place) => (
            <tr key={place}>
              <th scope="row">
                <Foreign text={name} />
              </th>
              {sum.values.map((_, column) => (
                <td key={column} class="number">
                  {valueText(sum, column)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > SHOWN && <p class="muted">{texts.tableCut(SHOWN)}</p>}
    </details>
  )
}
