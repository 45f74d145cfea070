import { useEffect, useState } from 'preact/hooks'
import type { Scope } from '../../api/activity'
import { Problem } from '../../api/problem'
import { ProblemBanner } from '../../parts/banner'
import { Badge, Empty } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { Loading } from '../../parts/loading'
import { exactTime } from '../../text/format'
import { activity as text } from '../../text/activity'
import { type Board, upToDate } from './board'
import { ConnectionList } from './connection-list'
import { FinishedList } from './finished-list'
import { LatencyTable } from './latency-table'
import { useClock } from './now'
import { RunningList } from './running-list'
import { useInUse } from './use'
import { type Snapshot, useActivity } from './watch'

/** Statements that run and that have ended, latency of the tools, connections of the databases. */
export function Statements({ scope, isHeld }: { scope: Scope; isHeld: boolean }) {
  const { snapshot, problem, again, stop } = useActivity(scope, isHeld)
  if (problem instanceof Problem && problem.status === 404) {
    return (
      <Empty icon="activity" title={text.notHere}>
        {text.notHereText}
      </Empty>
    )
  }
  return (
    <>
      {problem !== null && <ProblemBanner problem={problem} onRetry={again} />}
      {snapshot ? <Lists snapshot={snapshot} scope={scope} isHeld={isHeld} /> : problem === null && <Loading lines={6} onStop={stop} />}
    </>
  )
}

function Lists({ snapshot, scope, isHeld }: { snapshot: Snapshot; scope: Scope; isHeld: boolean }) {
  const [board, setBoard] = useState<Board | null>(null)
  const [inUse, use] = useInUse()
  useEffect(() => setBoard((before) => upToDate(before, snapshot.told, snapshot.at, inUse)), [snapshot, inUse])
  useClock(!isHeld && (board?.lines.some(({ ended }) => ended === null) ?? false))
  if (!board) return null
  const { replica, latency, connections } = snapshot.told
  return (
    <div class="activity-parts">
      <div class="activity-lists">
        <section aria-labelledby="activity-now">
          <div class="activity-head">
            <h2 id="activity-now">
              {text.now} <span class="count">{board.lines.filter(({ ended }) => !ended).length}</span>
            </h2>
            <Badge icon="database">
              <span title={text.replicaHint}>
                <Foreign text={text.replica(replica)} />
              </span>
            </Badge>
            <p class="muted activity-wait">{board.waiting > 0 ? text.newWaiting(board.waiting) : isHeld ? text.heldAt(exactTime(heldSince(snapshot))) : ''}</p>
          </div>
          <RunningList lines={board.lines} scope={scope} use={use} />
        </section>
        <section aria-labelledby="activity-latest">
          <div class="activity-head">
            <h2 id="activity-latest">{text.latest}</h2>
          </div>
          <FinishedList finished={board.finished} scope={scope} use={use} />
        </section>
      </div>
      <div class="activity-side">
        <section aria-labelledby="activity-latency">
          <div class="activity-head">
            <h2 id="activity-latency">{text.latency}</h2>
            <p class="muted">{text.latencyHint}</p>
          </div>
          <LatencyTable latency={latency} />
        </section>
        <section aria-labelledby="activity-connections">
          <div class="activity-head">
            <h2 id="activity-connections">{text.connections}</h2>
          </div>
          <ConnectionList connections={connections} />
        </section>
      </div>
    </div>
  )
}

const heldSince = ({ at }: Snapshot): number => Date.now() - (performance.now() - at)
