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

/** Row security with its policies, triggers and partitions. */
export function Rules({ details }: { readonly details: Loaded<TableDetails> }) {
  return (
    <WithDetails details={details}>
      {({ rowSecurity, policies = [], triggers = [], partitions, partitionOf }) => (
        <div class="keys-view">
          <section>
            <h3>{texts.rowSecurity}</h3>
            <p class={rowSecurity ? '' : 'muted'}>{texts.rowSecurities[rowSecurity ?? 'off']}</p>
            <List label={texts.rowSecurity}>
              {policies.map(({ name, command, roles, isPermissive, using, withCheck }) => (
                <li key={name}>
                  <Foreign text={texts.policy(name, command, roles, isPermissive)} />
                  <Condition word="USING" text={using} />
                  <Condition word="WITH CHECK" text={withCheck} />
                </li>
              ))}
            </List>
          </section>
          <section>
            <h3>{texts.triggers}</h3>
            {triggers.length === 0 && <p class="muted">{texts.noTriggers}</p>}
            <List label={texts.triggers}>
              {triggers.map((name) => (
                <li key={name} class="mono">
                  <Foreign text={name} />
                </li>
              ))}
            </List>
          </section>
          {(partitions ?? partitionOf) !== undefined && (
            <section>
              <h3>{texts.partitions}</h3>
              {[partitions, partitionOf && texts.partitionOf(partitionOf)].map((text) => text && <p key={text}><Foreign text={text} /></p>)}
            </section>
          )}
        </div>
      )}
    </WithDetails>
  )
}

/** A list, unless it would be empty. */
export const List = ({ label, children }: { readonly label: string; readonly children: ComponentChildren[] }) =>
  children.length > 0 ? (
    <ul class="relation-list" aria-label={label}>
      {children}
    </ul>
  ) : null

const Condition = ({ word, text }: { readonly word: string; readonly text: string | undefined }) =>
  text === undefined ? null : (
    <div class="mono">
      {word} (<Foreign text={text} />)
    </div>
  )
