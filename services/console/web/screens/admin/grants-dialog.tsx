import { useState } from 'preact/hooks'
import { endGrant, type Grant, grantsOf } from '../../api/admin'
import { Problem } from '../../api/problem'
import { ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { Dialog } from '../../parts/dialog'
import { Foreign } from '../../parts/foreign'
import { useLoaded } from '../../parts/loaded'
import { Loading } from '../../parts/loading'
import { Table, type TableColumn } from '../../parts/table'
import { toast } from '../../parts/toast'
import { ChangeDialog } from '../../shell/change-dialog'
import { admin } from '../../text/admin'
import { Moment } from './moment'

const text = admin.grants

/** The programs that a user allowed something, each with a way to end it. */
export function GrantsDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const { value, problem, again, stop } = useLoaded((signal) => grantsOf(name, signal), [name])
  const [ending, setEnding] = useState<Grant | null>(null)
  if (ending) {
    return (
      <End
        grant={ending}
        onDone={() => {
          setEnding(null)
          again()
        }}
        onClose={() => setEnding(null)}
      />
    )
  }
  const isOff = problem instanceof Problem && problem.code === 'sign_in_off'
  return (
    <Dialog title={text.title(name)} wide onClose={onClose} actions={<Button onClick={onClose}>{text.close}</Button>}>
      {isOff ? (
        <p>{text.off}</p>
      ) : problem !== null ? (
        <ProblemBanner problem={problem} onRetry={again} />
      ) : value === null ? (
        <Loading lines={3} onStop={stop} />
      ) : value.grants.length === 0 ? (
        <p class="muted">{text.none}</p>
      ) : (
        <Table label={text.title(name)} columns={columnsFor(setEnding)} rows={value.grants} keyOf={({ id }) => id} />
      )}
    </Dialog>
  )
}

function columnsFor(onEnd: (grant: Grant) => void): TableColumn<Grant>[] {
  const { client, scope, databases, made, lastUse, actions } = text.columns
  return [
    { title: client, cell: (grant) => <Foreign text={nameOf(grant)} /> },
    { title: scope, cell: (grant) => <Foreign text={grant.scope} /> },
    { title: databases, cell: (grant) => (grant.databases ? <Foreign text={grant.databases.join(', ')} /> : <span class="muted">{admin.allDatabases}</span>) },
    { title: made, cell: ({ created_at }) => <Moment at={created_at} /> },
    { title: lastUse, cell: ({ last_used_at }) => <Moment at={last_used_at} /> },
    {
      title: actions,
      quiet: true,
      number: true,
      cell: (grant) => (
        <Button aria-label={`${text.end} ${nameOf(grant)}`} onClick={() => onEnd(grant)}>
          {text.end}
        </Button>
      ),
    },
  ]
}

// The console is no program that gave itself a name.
const nameOf = ({ client_id, client_name }: Grant): string => (client_id === 'ziggurat-console' ? text.console : (client_name ?? client_id))

function End({ grant, onDone, onClose }: { grant: Grant; onDone: () => void; onClose: () => void }) {
  const name = nameOf(grant)
  return (
    <ChangeDialog
      title={text.endTitle}
      submit={text.endSubmit}
      action={text.endAction(name, grant.username)}
      danger
      change={() => endGrant(grant.id)}
      onDone={() => {
        toast(text.ended(name))
        onDone()
      }}
      onClose={onClose}
    >
      <p>
        <Foreign text={text.endText(name, grant.username)} />
      </p>
    </ChangeDialog>
  )
}
