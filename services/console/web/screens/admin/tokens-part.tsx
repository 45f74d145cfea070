import { useState } from 'preact/hooks'
import { type Token, tokens, revokeToken } from '../../api/admin'
import { Button } from '../../parts/button'
import { CLIENTS, clientConfiguration } from '../../parts/clients'
import { Badge, Empty } from '../../parts/facts'
import { Foreign } from '../../parts/foreign'
import { Table, type TableColumn } from '../../parts/table'
import { toast } from '../../parts/toast'
import { ChangeDialog } from '../../shell/change-dialog'
import { NewToken } from '../../shell/new-token'
import { admin } from '../../text/admin'
import { token as newToken } from '../../text/token'
import { expiryOf } from './expiry'
import { useLoaded } from '../../parts/loaded'
import { Moment } from './moment'
import { fits, ListBar, Part } from './part'

const text = admin.tokens

/** API tokens: the list, a way to make one, and a way to revoke one. */
export function TokensPart() {
  const loaded = useLoaded(tokens)
  const [making, setMaking] = useState(false)
  const [revoked, setRevoked] = useState<Token | null>(null)
  const [words, setWords] = useState('')
  const make = (
    <Button kind="main" icon="plus" onClick={() => setMaking(true)}>
      {newToken.make}
    </Button>
  )
  return (
    <>
      <Part loaded={loaded}>
        {({ tokens: all }) => {
          const shown = all.filter(({ id, note, database: name }) => fits(words, id, note, name))
          return all.length === 0 ? (
            <Empty icon="key" title={text.none} actions={make}>
              {text.noneText}
            </Empty>
          ) : (
            <>
              <ListBar words={words} onWords={setWords}>
                {make}
              </ListBar>
              {shown.length ? <Table label={admin.part.tokens} columns={columnsFor(all, setRevoked)} rows={shown} keyOf={({ id, hash_prefix }) => id + hash_prefix} /> : <p class="muted">{admin.noMatch}</p>}
            </>
          )
        }}
      </Part>
      {making && (
        <NewToken
          uses={CLIENTS.map((name) => ({ name, text: (token) => clientConfiguration(name, location.origin, token) }))}
          onMade={loaded.again}
          onClose={() => setMaking(false)}
        />
      )}
      {revoked && (
        <Revoke
          token={revoked}
          onDone={() => {
            setRevoked(null)
            loaded.again()
          }}
          onClose={() => setRevoked(null)}
        />
      )}
    </>
  )
}

const nameOf = ({ note, id }: Token): string => note || id

function columnsFor(all: readonly Token[], onRevoke: (token: Token) => void): TableColumn<Token>[] {
  const { note, database: place, toolsets, lastUse, expiry, id, actions } = text.columns
  const hasToolsets = all.some(({ toolsets: own }) => own !== null)
  return [
    { title: note, cell: (token) => (token.note ? <Foreign text={token.note} /> : <span class="muted">{text.noNote}</span>) },
    { title: place, cell: (token) => (token.database ? <Foreign text={token.database} /> : <span class="muted">{text.firstDatabase}</span>) },
    ...(hasToolsets ? [{ title: toolsets, cell: ({ toolsets: own }: Token) => (own ? <Foreign text={own.join(', ')} /> : <span class="muted">{text.allTools}</span>) }] : []),
    { title: lastUse, cell: (token) => <span title={text.lastUseHint}>{token.last_used_at ? <Moment at={token.last_used_at} /> : <span class="muted">{admin.notUsed}</span>}</span> },
    { title: expiry, cell: (token) => <Expiry token={token} /> },
    { title: id, cell: (token) => <span class="mono muted admin-id">{token.id}</span> },
    {
      title: actions,
      quiet: true,
      number: true,
      cell: (token) => (
        <Button aria-label={`${text.revoke} ${nameOf(token)}`} onClick={() => onRevoke(token)}>
          {text.revoke}
        </Button>
      ),
    },
  ]
}

function Expiry({ token }: { token: Token }) {
  const state = expiryOf(token, Date.now())
  if (state === 'never' || token.expires_at === null) return <span>{admin.never}</span>
  return (
    <span class="admin-expiry">
      <Moment at={token.expires_at} />
      {state === 'expired' && (
        <Badge kind="danger" icon="error">
          {text.expired}
        </Badge>
      )}
      {state === 'soon' && (
        <Badge kind="warn" icon="warning">
          {text.soon}
        </Badge>
      )}
    </span>
  )
}

function Revoke({ token, onDone, onClose }: { token: Token; onDone: () => void; onClose: () => void }) {
  const name = nameOf(token)
  return (
    <ChangeDialog
      title={text.revokeTitle}
      submit={text.revoke}
      action={text.revokeAction(name)}
      danger
      change={() => revokeToken(token.id)}
      onDone={() => {
        toast(text.revoked(name))
        onDone()
      }}
      onClose={onClose}
    >
      <p>
        <Foreign text={text.revokeText(name)} />
      </p>
    </ChangeDialog>
  )
}
