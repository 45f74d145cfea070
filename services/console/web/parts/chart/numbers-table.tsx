import { chart as texts } from '../../text/chart'
import { Foreign } from '../foreign'

/** Rows of the table in the document. */
const SHOWN = 200

/** A place along the bottom, or a name, with the value of each series. */
export interface NumberRow {
  readonly name: string
  readonly values: readonly (number | null)[]
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
          {rows.slice(0, SHOWN).map(({ name, values }, place) => (
            <tr key={place}>
              <th scope="row">
                <Foreign text={name} />
              </th>
              {values.map((value, column) => (
                <td key={column} class="number">
                  {value === null ? '' : value.toLocaleString('en', { maximumFractionDigits: 6 })}
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
