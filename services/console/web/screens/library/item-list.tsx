import { useState } from 'preact/hooks'
import type { LibraryItem, LibraryKind } from '../../api/library'
import { ProblemBanner } from '../../parts/banner'
import { Badge, Empty } from '../../parts/facts'
import { TextField } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { Icon } from '../../parts/icon'
import { Loading } from '../../parts/loading'
import { Menu, type MenuItem } from '../../parts/menu'
import { toast } from '../../parts/toast'
import { keepsLibrary, mayChange, useItems } from '../../shell/library'
import { isIn, session } from '../../shell/session'
import { library as texts } from '../../text/library'
import { changeItem, editItem, type Outcome, removeItem } from './changes'

interface Props {
  readonly kind: LibraryKind
  readonly onOpen: (item: LibraryItem) => void
  /** Learns of an item as it is now; of `null` with its id if it is gone. */
  readonly onChanged?: (id: string, item: LibraryItem | null) => void
}

/** The queries or prompts that the server keeps: those of the person, and those that others share. */
export function ItemList(props: Props) {
  const caller = session.value
  if (!isIn(caller)) return null
  if (!keepsLibrary(caller)) return <Empty icon="key" title={caller.kind === 'user' || caller.kind === 'open' ? texts.notKept : texts.usersOnly} />
  return <Kept {...props} user={caller.user ?? ''} />
}

function Kept({ kind, onOpen, onChanged, user }: Props & { readonly user: string }) {
  const [words, setWords] = useState('')
  const { items, more, problem, again, stop } = useItems(kind, words)
  const groups = [
    { name: texts.yours, own: items?.filter(({ owner }) => owner === user) ?? [] },
    { name: texts.ofOthers, own: items?.filter(({ owner }) => owner !== user) ?? [] },
  ]
  return (
    <div class="library-list">
      <TextField label={texts.filter} quiet type="search" placeholder={texts.filter} value={words} onText={setWords} autocomplete="off" />
      {problem !== null && <ProblemBanner problem={problem} onRetry={again} />}
      {!items && problem === null && <Loading lines={4} onStop={stop} />}
      {items?.length === 0 && (
        <p class="muted" role="status">
          {words.trim() ? texts.noneFound : texts.noneYet[kind]}
        </p>
      )}
      {groups.map(({ name, own }) =>
        own.length ? (
          <section key={name}>
            <h2>{name}</h2>
            <ul>
              {own.map((item) => (
                <Line key={item.id} item={item} isOwn={item.owner === user} onOpen={onOpen} onChanged={onChanged} />
              ))}
            </ul>
          </section>
        ) : null,
      )}
      {more && <p class="muted">{texts.more(items?.length ?? 0)}</p>}
    </div>
  )
}

interface LineProps {
  readonly item: LibraryItem
  readonly isOwn: boolean
  readonly onOpen: Props['onOpen']
  readonly onChanged: Props['onChanged']
}

function Line({ item, isOwn, onOpen, onChanged }: LineProps) {
  const follow = (work: Promise<Outcome>) =>
    work.then(
      ({ item: now }) => {
        if (!now) toast(texts.unknown, 'danger')
        onChanged?.(item.id, now)
      },
      (problem: Error) => toast(problem.message, 'danger'),
    )
  const drop = () =>
    removeItem(item).then(
      (gone) => {
        if (!gone) return
        onChanged?.(item.id, null)
        toast(texts.removed(item.title))
      },
      (problem: Error) => toast(problem.message, 'danger'),
    )
  const items: MenuItem[] = [
    { label: texts.use[item.kind], icon: item.kind === 'query' ? 'sql' : 'prompt', onChoose: () => onOpen(item) },
    ...(mayChange(item)
      ? ([
          { label: item.kind === 'prompt' ? texts.edit : texts.rename, icon: 'edit', onChoose: () => void follow(editItem(item)) },
          { label: item.shared ? texts.unshare : texts.share, icon: item.shared ? 'lock' : 'user', onChoose: () => void follow(changeItem(item, { shared: !item.shared })) },
          { label: texts.remove, icon: 'trash', danger: true, onChoose: () => void drop() },
        ] satisfies MenuItem[])
      : []),
  ]
  return (
    <li class="library-line">
      <button type="button" class="library-open" onClick={() => onOpen(item)}>
        <span class="library-title">
          <Foreign text={item.title} />
        </span>
        <span class="library-facts">
          <Foreign text={[isOwn ? '' : texts.by(item.owner), texts.facts(item.updated_at, item.database)].filter(Boolean).join(' · ')} />
          {isOwn && item.shared && <Badge>{texts.shared}</Badge>}
        </span>
      </button>
      <Menu label={texts.actions(item.title)} class="only-icon" align="end" trigger={<Icon name="more" size={16} />} items={items} />
    </li>
  )
}
