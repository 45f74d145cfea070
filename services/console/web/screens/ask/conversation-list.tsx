import { useState } from 'preact/hooks'
import { type Listed, remove, rename } from '../../api/conversations'
import { Button } from '../../parts/button'
import { Dialog } from '../../parts/dialog'
import { TextField } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { Icon } from '../../parts/icon'
import { Menu } from '../../parts/menu'
import { toast } from '../../parts/toast'
import { addressOf, place, replace } from '../../shell/router'
import { ask as text } from '../../text/ask'
import { keptId, startNew } from './dialogue'

/** Conversations that the server keeps of this user, newest first. */
export function ConversationList({ list, words, onWords, onChange, onChoose }: { list: Listed[]; words: string; onWords: (words: string) => void; onChange: () => void; onChoose?: () => void }) {
  const [renaming, setRenaming] = useState<Listed | null>(null)
  const today = new Date().toDateString()
  const groups = [
    { name: text.today, own: list.filter((item) => new Date(item.updated_at).toDateString() === today) },
    { name: text.earlier, own: list.filter((item) => new Date(item.updated_at).toDateString() !== today) },
  ]
  const drop = async (item: Listed) => {
    try {
      await remove(item.id)
      if (keptId.peek() === item.id) {
        startNew()
        replace({ query: { open: null } })
      }
      onChange()
    } catch (problem) {
      toast(String((problem as Error).message), 'danger')
    }
  }
  return (
    <div class="conversation-list">
      <Button
        icon="plus"
        class="wide"
        onClick={() => {
          startNew()
          replace({ query: { open: null } })
          onChoose?.()
        }}
      >
        {text.newOne}
      </Button>
      <TextField label={text.filter} quiet type="search" placeholder={text.filter} value={words} onText={onWords} autocomplete="off" />
      {list.length === 0 && (
        <p class="muted" role="status">
          {words ? text.noneFound : text.noneYet}
        </p>
      )}
      {groups.map(({ name, own }) =>
        own.length ? (
          <section key={name}>
            <h3>{name}</h3>
            <ul>
              {own.map((item) => (
                <li key={item.id} class="conversation">
                  <a href={addressOf(place.value, { query: { open: item.id } })} {...(item.id === keptId.value && { 'aria-current': 'true' })} onClick={onChoose}>
                    <Foreign text={item.title || item.preview} />
                  </a>
                  <Menu
                    label={text.actions(item.title)}
                    class="only-icon"
                    align="end"
                    trigger={<Icon name="more" size={16} />}
                    items={[
                      { label: text.rename, icon: 'edit', onChoose: () => setRenaming(item) },
                      { label: text.remove, icon: 'trash', danger: true, onChoose: () => void drop(item) },
                    ]}
                  />
                </li>
              ))}
            </ul>
          </section>
        ) : null,
      )}
      {renaming && <Rename item={renaming} onDone={(changed) => {
        setRenaming(null)
        if (changed) onChange()
      }} />}
    </div>
  )
}

function Rename({ item, onDone }: { item: Listed; onDone: (changed: boolean) => void }) {
  const [title, setTitle] = useState(item.title)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    try {
      await rename(item.id, title)
      onDone(true)
    } catch (problem) {
      toast(String((problem as Error).message), 'danger')
    }
  }
  return (
    <Dialog title={text.rename} onClose={() => onDone(false)}>
      <form class="rename" onSubmit={submit}>
        <TextField label={text.newTitle} value={title} onText={setTitle} autofocus autocomplete="off" required />
        <Button kind="main" type="submit" disabled={!title.trim()}>
          {text.save}
        </Button>
      </form>
    </Dialog>
  )
}
