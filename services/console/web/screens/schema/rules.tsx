import type { ComponentChildren } from 'preact'
import type { TableDetails } from '../../api/schema'
import { ProblemBanner } from '../../parts/banner'
import { Foreign } from '../../parts/foreign'
import type { Loaded } from '../../parts/loaded'
import { Loading } from '../../parts/loading'
import { schema as texts } from '../../text/schema'

/** Shows details of a table once they are read. */
export function WithDetails({ details: { value, problem, again, stop }, children }: { readonly details: Loaded<TableDetails>; readonly children: (details: TableDetails) => ComponentChildren }) {
  if (value) return <>{children(value)}</>
  return problem === null ? <Loading lines={3} onStop={stop} /> : <ProblemBanner problem={problem} onRetry={again} />
}

/** A part of the details: lines of a name and code, or a sentence if there are none. */
export const Lines = ({ title, none, lines }: { readonly title: string; readonly none?: string; readonly lines: readonly (readonly [name: string, ...code: string[]])[] }) => (
  <section>
    <h3>{title}</h3>
    {lines.length === 0 && <p class="muted">{none}</p>}
    <ul class="relation-list">
      {lines.map(([name, ...code]) => (
        <li key={name}>
          <Foreign text={name} />
          {code.map((text) => (
            <div key={text} class="mono">
              <Foreign text={text} />
            </div>
          ))}
        </li>
      ))}
    </ul>
  </section>
)

/** Row security with its policies, triggers and partitions. */
export const Rules = ({ details }: { readonly details: Loaded<TableDetails> }) => (
  <WithDetails details={details}>
    {({ rowSecurity, policies = [], triggers = [], partitions, partitionOf }) => (
      <div class="keys-view">
        <Lines
          title={texts.rowSecurity(rowSecurity ?? 'off')}
          none={texts.noPolicies}
          lines={policies.map(({ name, command, roles, isPermissive, using, withCheck }) => [
            texts.policy(name, command, roles, isPermissive),
            ...(using === undefined ? [] : [`USING (${using})`]),
            ...(withCheck === undefined ? [] : [`WITH CHECK (${withCheck})`]),
          ])}
        />
        <Lines title={texts.triggers} none={texts.noTriggers} lines={triggers.map((name) => [name])} />
        {partitions && <Lines title={texts.partitions} lines={[[partitions]]} />}
        {partitionOf && <Lines title={texts.partitionOf} lines={[[partitionOf]]} />}
      </div>
    )}
  </WithDetails>
)
