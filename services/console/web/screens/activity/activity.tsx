import { useState } from 'preact/hooks'
import type { Scope } from '../../api/activity'
import { Button } from '../../parts/button'
import { Select } from '../../parts/field'
import { Tabs } from '../../parts/tabs'
import { place, replace } from '../../shell/router'
import { isIn, session } from '../../shell/session'
import { activity as text } from '../../text/activity'
import { Audit } from './audit'
import { Statements } from './statements'

/** The screen that shows what runs and, to administrators, what was recorded. */
export default function Activity() {
  const caller = session.value
  const isAdmin = isIn(caller) && caller.admin
  const { query } = place.value
  const view = isAdmin && query.get('view') === 'audit' ? 'audit' : 'statements'
  const scope: Scope = isAdmin && query.get('scope') !== 'own' ? 'all' : 'own'
  const [isHeld, setHeld] = useState(false)
  const end = view === 'statements' && (
    <>
      <Button aria-pressed={isHeld} class="activity-hold" icon={isHeld ? 'pin' : 'reload'} onClick={() => setHeld(!isHeld)}>
        {text.hold}
      </Button>
      {isAdmin && (
        <Select
          label={text.scope}
          quiet
          value={scope}
          choices={(['all', 'own'] as const).map((value) => ({ value, label: text.scopes[value] }))}
          onChoose={(value) => replace({ query: { scope: value === 'own' ? value : null } })}
        />
      )}
    </>
  )
  const statements = <Statements key={scope} scope={scope} isHeld={isHeld} />
  return (
    <div class="screen activity-screen">
      {isAdmin ? (
        <>
          <h1>{text.title}</h1>
          <Tabs
            label={text.views}
            tabs={[
              { name: 'statements', title: text.statements },
              { name: 'audit', title: text.audit },
            ]}
            current={view}
            onChoose={(name) => replace({ query: { view: name === 'audit' ? name : null } })}
            end={end}
          >
            {view === 'audit' ? <Audit /> : statements}
          </Tabs>
        </>
      ) : (
        <>
          <div class="activity-title">
            <h1>{text.title}</h1>
            {end}
          </div>
          {statements}
        </>
      )}
    </div>
  )
}
