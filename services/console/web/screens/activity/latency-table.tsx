import type { Latency } from '../../api/activity'
import { Foreign } from '../../parts/foreign'
import { number } from '../../text/format'
import { activity as text } from '../../text/activity'

/** Times of the calls of each tool. Stays a table at all widths: its numbers are short. */
export function LatencyTable({ latency }: { latency: readonly Latency[] }) {
  if (!latency.length) return <p class="muted activity-none">{text.noLatency}</p>
  const { tool, calls, errors, p50, p95, p99 } = text.columns
  return (
    <div class="latency" tabIndex={0} role="group" aria-label={text.latency}>
      <table>
        <thead>
          <tr>
            <th scope="col">{tool}</th>
            {[calls, errors, p50, p95, p99].map((title) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {latency.map((line) => (
            <tr key={line.tool}>
              <th scope="row" class="mono">
                <Foreign text={line.tool} />
              </th>
              <td class="number">{number(line.count)}</td>
              <td class={`number ${line.errors ? 'some-errors' : ''}`}>{number(line.errors)}</td>
              {[line.p50_ms, line.p95_ms, line.p99_ms].map((milliseconds, at) => (
                <td key={at} class="number">
                  {text.took(milliseconds)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
