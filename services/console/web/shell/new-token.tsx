import { useEffect, useRef, useState } from 'preact/hooks'
import { configuration, makeToken } from '../api/admin'
import { CheckList } from '../parts/check-list'
import { CodeText } from '../parts/code-text'
import { Select, TextField } from '../parts/field'
import { ShownOnce } from '../parts/shown-once'
import { Tabs } from '../parts/tabs'
import { token as text } from '../text/token'
import { ChangeDialog } from './change-dialog'
import { useDatabaseNames } from './database-names'
import { database as current } from './router'

/** A text that is ready to be used with a token in it. */
export interface TokenUse {
  name: string
  text: (token: string) => string
}

interface Props {
  /** Texts that are shown with the new token in them. */
  uses: readonly TokenUse[]
  /** Name of the text that is shown first. */
  firstUse?: string
  onMade?: () => void
  onClose: () => void
}

const USUAL = '90d'
type Expiry = keyof typeof text.expiries

/** Asks what a new token is for, makes it, and shows it once with texts that use it. */
export function NewToken({ uses, firstUse, onMade, onClose }: Props) {
  const [made, setMade] = useState<string | null>(null)
  if (made !== null) return <Made token={made} uses={uses} firstUse={firstUse ?? uses[0]?.name ?? ''} onDone={onClose} />
  return (
    <Questions
      onClose={onClose}
      onMade={(token) => {
        setMade(token)
        onMade?.()
      }}
    />
  )
}

function Questions({ onMade, onClose }: Pick<Props, 'onClose'> & { onMade: (token: string) => void }) {
  const [note, setNote] = useState('')
  const [chosen, setDatabase] = useState(current.value)
  const [expiry, setExpiry] = useState<Expiry>(USUAL)
  const [sets, setSets] = useState<string[]>([])
  const [missing, setMissing] = useState(false)
  const names = useDatabaseNames()
  const known = useToolsets()
  const database = names.includes(chosen) ? chosen : (names[0] ?? '')
  const field = useRef<HTMLInputElement | null>(null)
  const wanted = { note: note.trim(), database, expiry, ...(sets.length && { toolsets: sets }) }
  const check = () => {
    setMissing(!wanted.note)
    if (!wanted.note) field.current?.focus()
    return wanted.note !== ''
  }
  return (
    <ChangeDialog
      title={text.make}
      submit={text.submit}
      action={text.action(wanted.note)}
      check={check}
      change={() => makeToken(wanted)}
      onDone={({ token }) => onMade(token)}
      onClose={onClose}
    >
      <TextField label={text.note} hint={text.noteHint} value={note} onText={setNote} error={missing && !wanted.note ? text.noteMissing : null} autocomplete="off" autofocus required control={field} />
      <Select label={text.database} value={database} choices={names.map((name) => ({ value: name, label: name }))} onChoose={setDatabase} />
      {known.length > 0 && <CheckList label={text.toolsets} note={{ text: text.toolsetsHint }} names={known} chosen={sets} onChoose={setSets} />}
      <Select
        label={text.expiry}
        value={expiry}
        hint={expiry === 'never' ? text.neverHint : undefined}
        choices={Object.entries(text.expiries).map(([value, label]) => ({ value, label }))}
        onChoose={(value) => setExpiry(value as Expiry)}
      />
    </ChangeDialog>
  )
}

/** Names of the toolsets that a token can have. None while they are not known: they are only an offer. */
function useToolsets(): readonly string[] {
  const [names, setNames] = useState<readonly string[]>([])
  useEffect(() => {
    const stop = new AbortController()
    configuration(stop.signal).then(
      ({ values }) => {
        const sets = values.find(({ key }) => key === 'toolsets')?.value
        if (Array.isArray(sets)) setNames(sets.filter((name): name is string => typeof name === 'string'))
      },
      () => {},
    )
    return () => stop.abort()
  }, [])
  return names
}

function Made({ token, uses, firstUse, onDone }: { token: string; uses: readonly TokenUse[]; firstUse: string; onDone: () => void }) {
  const [chosen, setChosen] = useState(firstUse)
  const use = uses.find(({ name }) => name === chosen)
  return (
    <ShownOnce title={text.made} note={text.once} label={text.secret} secret={token} onDone={onDone}>
      <Tabs label={text.clients} tabs={uses.map(({ name }) => ({ name, title: name }))} current={chosen} onChoose={setChosen}>
        {use && <CodeText text={use.text(token)} label={use.name} />}
      </Tabs>
    </ShownOnce>
  )
}
