import type { Connections } from '../../api/activity'
import { Badge } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { activity as text } from '../../text/activity'

/** Connections of each database, in words and as a bar. */
export function ConnectionList({ connections }: { connections: readonly Connections[] }) {
  if (!connections.length) return <p class="muted activity-none">{text.noConnections}</p>
  return (
    <ul class="connection-list">
      {connections.map((line) => (
        <li key={line.database}>
          <p class="connection-name">
            <Foreign text={line.database} />
            {line.waiting > 0 && <Badge kind="warn">{text.waitingWord}</Badge>}
          </p>
          <Bar {...line} />
          <p class="muted">{text.connectionsOf(line)}</p>
        </li>
      ))}
    </ul>
  )
}

// The words below say the same.
function Bar({ in_use, idle, limit }: Connections) {
  const whole = Math.max(limit, in_use + idle, 1)
  const share = (part: number) => ({ inlineSize: `${(part / whole) * 100}%` })
  return (
    <span class="connection-bar" aria-hidden="true">
      <span class="in-use" style={share(in_use)} />
      <span class="idle" style={share(idle)} />
    </span>
  )
}
