import { Foreign } from '../../parts/foreign'
import { Icon, type IconName } from '../../parts/icon'
import { activity as text } from '../../text/activity'

const SIGNS: Record<string, IconName> = { user: 'user', token: 'key', client: 'link', local: 'home', admin: 'admin' }

/** Name of the identity behind a call, with a sign for its kind. */
export function Caller({ kind, name }: { kind: string; name: string | null }) {
  const word = text.kinds[kind] ?? kind
  return (
    <span class="caller" title={word}>
      <Icon name={SIGNS[kind] ?? 'info'} size={16} />
      {name ? (
        <>
          <span class="spoken">{word}</span> <Foreign text={name} />
        </>
      ) : (
        <span class="muted">{word}</span>
      )}
    </span>
  )
}
