import { useRef, useState } from 'preact/hooks'
import { changeUser, deleteUser, endSessions, makeUser, type User } from '../../api/admin'
import { CheckList } from '../../parts/check-list'
import { TextField } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { toast } from '../../parts/toast'
import { ChangeDialog } from '../../shell/change-dialog'
import { useDatabaseNames } from '../../shell/database-names'
import { admin } from '../../text/admin'
import { madePassword } from './password'

const text = admin.users

/** Changes of a user. */
export type Change = 'edit' | 'reset' | 'end' | 'enable' | 'disable' | 'remove'

interface Ends {
  /** Is given the name, and a password that has to be shown. */
  onDone: (name: string, password: string | null) => void
  onClose: () => void
}

/** The dialog for one change of a user. */
export function UserChange({ change, ...rest }: Ends & { change: Change; user: User }) {
  switch (change) {
    case 'edit':
      return <Edit {...rest} />
    case 'reset':
      return <Reset {...rest} />
    case 'end':
      return <End {...rest} />
    case 'remove':
      return <Remove {...rest} />
    default:
      return <Enable {...rest} enabled={change === 'enable'} />
  }
}

/** All databases, as one of the names that are chosen. No database has an empty name. */
const ALL = ''

/** A choice of databases. Choosing none is a mistake, since the server takes an empty list for all. */
function useDatabases(first: readonly string[]) {
  const [chosen, setChosen] = useState<readonly string[]>(first)
  const [checked, setChecked] = useState(false)
  const box = useRef<HTMLInputElement>(null)
  const names = [...new Set([ALL, ...useDatabaseNames(), ...chosen])]
  const choose = (next: string[]) => setChosen(next.includes(ALL) && !chosen.includes(ALL) ? [ALL] : next.filter((name) => name !== ALL))
  const isMissing = chosen.length === 0
  return {
    databases: chosen.filter((name) => name !== ALL),
    check: () => {
      setChecked(true)
      if (isMissing) box.current?.focus()
      return !isMissing
    },
    field: <CheckList label={text.databases} names={names} chosen={chosen} onChoose={choose} textOf={(name) => name || text.all} note={checked && isMissing ? { text: text.databasesMissing, isError: true } : null} control={box} />,
  }
}

/** Asks for a new user. */
export function NewUser({ onDone, onClose }: Ends) {
  const [name, setName] = useState('')
  const [note, setNote] = useState('')
  const [password, setPassword] = useState('')
  const { databases, check: checkDatabases, field: databasesField } = useDatabases([])
  const [missing, setMissing] = useState(false)
  const field = useRef<HTMLInputElement | null>(null)
  const username = name.trim()
  const check = () => {
    setMissing(username === '')
    const isChosen = checkDatabases()
    if (!username) field.current?.focus()
    return username !== '' && isChosen
  }
  return (
    <ChangeDialog
      title={text.make}
      submit={text.makeSubmit}
      action={text.makeAction(username)}
      check={check}
      change={() => makeUser({ username, note: note.trim(), databases, ...(password && { password }) })}
      onDone={(made) => {
        toast(text.made(username))
        onDone(username, made.password)
      }}
      onClose={onClose}
    >
      <TextField label={text.name} value={name} onText={setName} error={missing && !username ? text.nameMissing : null} autocomplete="off" autofocus required control={field} />
      <TextField label={text.note} value={note} onText={setNote} autocomplete="off" />
      <TextField label={text.password} type="password" hint={text.passwordHint} value={password} onText={setPassword} autocomplete="new-password" />
      {databasesField}
    </ChangeDialog>
  )
}

function Edit({ user, onDone, onClose }: Ends & { user: User }) {
  const { username } = user
  const [note, setNote] = useState(user.note)
  const { databases, check, field } = useDatabases(user.databases.length ? user.databases : [ALL])
  return (
    <ChangeDialog
      title={text.editTitle(username)}
      submit={text.editSubmit}
      action={text.editAction(username)}
      check={check}
      change={() => changeUser(username, { note: note.trim(), databases })}
      onDone={() => {
        toast(text.saved)
        onDone(username, null)
      }}
      onClose={onClose}
    >
      <TextField label={text.note} value={note} onText={setNote} autocomplete="off" autofocus />
      {field}
    </ChangeDialog>
  )
}

function Reset({ user: { username }, onDone, onClose }: Ends & { user: User }) {
  const [typed, setTyped] = useState('')
  const [made] = useState(madePassword)
  const password = typed || made
  return (
    <ChangeDialog
      title={text.resetTitle(username)}
      submit={text.resetSubmit}
      action={text.resetAction(username)}
      change={() => changeUser(username, { password })}
      onDone={() => {
        toast(text.resetDone(username))
        onDone(username, typed ? null : made)
      }}
      onClose={onClose}
    >
      <p>{text.resetText}</p>
      <TextField label={text.password} type="password" hint={text.passwordHint} value={typed} onText={setTyped} autocomplete="new-password" autofocus />
    </ChangeDialog>
  )
}

function Enable({ user: { username }, enabled, onDone, onClose }: Ends & { user: User; enabled: boolean }) {
  return (
    <ChangeDialog
      title={enabled ? text.enableTitle(username) : text.disableTitle(username)}
      submit={enabled ? text.enable : text.disable}
      action={enabled ? text.enableAction(username) : text.disableAction(username)}
      danger={!enabled}
      change={() => changeUser(username, { enabled })}
      onDone={() => {
        toast(enabled ? text.enableAction(username) : text.disableAction(username))
        onDone(username, null)
      }}
      onClose={onClose}
    >
      <p>{enabled ? text.enableText : text.disableText}</p>
    </ChangeDialog>
  )
}

function End({ user: { username, sessions }, onDone, onClose }: Ends & { user: User }) {
  return (
    <ChangeDialog
      title={text.endTitle(username)}
      submit={text.endSubmit}
      action={text.endAction(username)}
      danger
      change={() => endSessions(username)}
      onDone={() => {
        toast(text.ended(username))
        onDone(username, null)
      }}
      onClose={onClose}
    >
      <p>{text.endText(sessions)}</p>
    </ChangeDialog>
  )
}

function Remove({ user: { username }, onDone, onClose }: Ends & { user: User }) {
  const [typed, setTyped] = useState('')
  return (
    <ChangeDialog
      title={text.removeTitle(username)}
      submit={text.removeSubmit}
      action={text.removeAction(username)}
      danger
      ready={typed === username}
      change={() => deleteUser(username)}
      onDone={() => {
        toast(text.removed(username))
        onDone(username, null)
      }}
      onClose={onClose}
    >
      <p>{text.removeText}</p>
      <p>
        <Foreign text={text.removeType(username)} />
      </p>
      <TextField label={text.name} value={typed} onText={setTyped} autocomplete="off" autofocus />
    </ChangeDialog>
  )
}
