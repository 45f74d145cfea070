import { useState } from 'preact/hooks'
import { type User, users } from '../../api/admin'
import { Button } from '../../parts/button'
import { Badge, Empty } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { Icon } from '../../parts/icon'
import { Menu, type MenuItem } from '../../parts/menu'
import { ShownOnce } from '../../parts/shown-once'
import { Table, type TableColumn } from '../../parts/table'
import { isIn, session } from '../../shell/session'
import { number } from '../../text/format'
import { admin } from '../../text/admin'
import { useLoaded } from '../../parts/loaded'
import { GrantsDialog } from './grants-dialog'
import { Moment } from './moment'
import { fits, ListBar, Part } from './part'
import { NewUser, UserChange, type Change } from './user-dialogs'

const text = admin.users

/** The dialog over the list. A password that was made is only here while it is shown. */
type Over = { make: true } | { change: Change; user: User } | { password: string; name: string } | { grantsOf: string } | null

/** Users: the list, a way to make one, and what can be done to each. */
export function UsersPart() {
  const loaded = useLoaded(users)
  const [over, setOver] = useState<Over>(null)
  const [words, setWords] = useState('')
  const close = () => setOver(null)
  const done = (name: string, password: string | null) => {
    setOver(password === null ? null : { password, name })
    loaded.again()
  }
  const make = (
    <Button kind="main" icon="plus" onClick={() => setOver({ make: true })}>
      {text.make}
    </Button>
  )
  return (
    <>
      <Part loaded={loaded}>
        {({ users: all }) => {
          const shown = all.filter(({ username, note }) => fits(words, username, note))
          return all.length === 0 ? (
            <Empty icon="user" title={text.none} actions={make} />
          ) : (
            <>
              <ListBar words={words} onWords={setWords}>
                {make}
              </ListBar>
              {shown.length ? <Table label={admin.part.users} columns={columnsFor(
                (change, user) => setOver({ change, user }),
                (name) => setOver({ grantsOf: name }),
              )} rows={shown} keyOf={({ username }) => username} /> : <p class="muted">{admin.noMatch}</p>}
              <p class="hint">{text.administratorHint}</p>
            </>
          )
        }}
      </Part>
      {over && 'make' in over && <NewUser onDone={done} onClose={close} />}
      {over && 'change' in over && <UserChange change={over.change} user={over.user} onDone={done} onClose={close} />}
      {over && 'grantsOf' in over && <GrantsDialog name={over.grantsOf} onClose={close} />}
      {over && 'password' in over && <ShownOnce title={text.shownTitle} note={text.shownOnce(over.name)} label={text.password} secret={over.password} onDone={close} />}
    </>
  )
}

function columnsFor(onChange: (change: Change, user: User) => void, onGrants: (name: string) => void): TableColumn<User>[] {
  const { name, state, databases, lastLogin, sessions, actions } = text.columns
  return [
    { title: name, cell: (user) => <Name user={user} /> },
    { title: state, cell: (user) => <State user={user} /> },
    { title: databases, cell: (user) => (user.databases.length ? <Foreign text={user.databases.join(', ')} /> : <span class="muted">{admin.allDatabases}</span>) },
    { title: lastLogin, cell: ({ last_login }) => (last_login ? <Moment at={last_login} /> : <span class="muted">{admin.never}</span>) },
    { title: sessions, number: true, cell: (user) => (user.sessions === null ? '–' : number(user.sessions)) },
    {
      title: actions,
      quiet: true,
      number: true,
      cell: (user) => (
        <Menu label={admin.actionsFor(user.username)} align="end" class="only-icon" trigger={<Icon name="more" />} items={actionsFor(user, (change) => onChange(change, user), () => onGrants(user.username))} />
      ),
    },
  ]
}

function actionsFor({ enabled, sessions }: User, choose: (change: Change) => void, showGrants: () => void): MenuItem[] {
  return [
    { label: text.edit, icon: 'edit', onChoose: () => choose('edit') },
    { label: text.reset, icon: 'key', onChoose: () => choose('reset') },
    { label: admin.grants.of, icon: 'tools', onChoose: showGrants },
    { label: text.end, icon: 'sign-out', disabled: sessions === 0, onChoose: () => choose('end') },
    enabled ? { label: `${text.disable}…`, icon: 'lock', onChoose: () => choose('disable') } : { label: `${text.enable}…`, icon: 'check', onChoose: () => choose('enable') },
    { label: text.remove, icon: 'trash', danger: true, onChoose: () => choose('remove') },
  ]
}

function Name({ user: { username, note } }: { user: User }) {
  const caller = session.value
  return (
    <span class="admin-name">
      <span>
        <Foreign text={username} />
        {isIn(caller) && caller.user === username && <span class="muted"> ({text.you})</span>}
      </span>
      {note && (
        <span class="muted admin-note">
          <Foreign text={note} />
        </span>
      )}
    </span>
  )
}

const State = ({ user: { enabled, admin: isAdmin, failed_attempts } }: { user: User }) => (
  <span class="admin-badges">
    {enabled ? <Badge kind="ok">{text.enabled}</Badge> : <Badge kind="warn" icon="lock">{text.disabled}</Badge>}
    {isAdmin && <Badge kind="clay">{text.administrator}</Badge>}
    {failed_attempts > 0 && <Badge kind="warn">{text.locked(failed_attempts)}</Badge>}
  </span>
)
