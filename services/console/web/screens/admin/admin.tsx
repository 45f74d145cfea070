import { Tabs } from '../../parts/tabs'
import { place, replace } from '../../shell/router'
import { admin as text } from '../../text/admin'
import { ConfigurationPart } from './configuration-part'
import { DatabasesPart } from './databases-part'
import { ServerPart } from './server-part'
import { TokensPart } from './tokens-part'
import { UsersPart } from './users-part'

const PARTS = { tokens: TokensPart, users: UsersPart, databases: DatabasesPart, configuration: ConfigurationPart, server: ServerPart } as const

type PartName = keyof typeof PARTS

const NAMES = Object.keys(PARTS) as PartName[]

/** The screen for administrators. */
export default function Admin() {
  const wanted = place.value.query.get('part')
  const current = NAMES.find((name) => name === wanted) ?? 'tokens'
  const Shown = PARTS[current]
  return (
    <div class="screen admin-screen">
      <h1>{text.title}</h1>
      <Tabs label={text.parts} tabs={NAMES.map((name) => ({ name, title: text.part[name] }))} current={current} onChoose={(name) => replace({ query: { part: name === 'tokens' ? null : name } })}>
        <Shown />
      </Tabs>
    </div>
  )
}
