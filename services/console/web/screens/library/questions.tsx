import { useState } from 'preact/hooks'
import type { LibraryItem } from '../../api/library'
import { ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { CodeText } from '../../parts/code-text'
import { Dialog } from '../../parts/dialog'
import { Select, Switch, TextArea, TextField } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { database } from '../../shell/router'
import { library as texts } from '../../text/library'
import { addItem, type LibraryQuestion, question } from './changes'

/** The dialogs about items of the library. */
export function LibraryQuestions() {
  const asked = question.value
  switch (asked?.kind) {
    case 'add':
      return <Add asked={asked} />
    case 'edit':
      return <Edit asked={asked} />
    case 'remove':
      return <Remove asked={asked} />
    case 'changed':
      return <Changed asked={asked} />
    default:
      return null
  }
}

type Of<K> = { asked: LibraryQuestion & { kind: K } }

const FORM = 'library-form'

const SaveButtons = ({ onCancel, disabled }: { onCancel: () => void; disabled: boolean }) => (
  <>
    <Button onClick={onCancel}>{texts.cancel}</Button>
    <Button kind="main" type="submit" form={FORM} disabled={disabled}>
      {texts.save}
    </Button>
  </>
)

/** Title, database and sharing of a new item. The dialog stays until the server has kept it. */
function Add({ asked: { draft, note, answer } }: Of<'add'>) {
  const [title, setTitle] = useState(draft.title)
  const [text, setText] = useState(draft.text)
  const [place, setPlace] = useState(draft.database ?? '')
  const [shared, setShared] = useState(draft.shared)
  const [problem, setProblem] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const here = draft.database ?? database.peek()
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setBusy(true)
    addItem({ ...draft, title: title.trim(), text, database: place || null, shared })
      .then(answer, setProblem)
      .finally(() => setBusy(false))
  }
  return (
    <Dialog title={texts.addTitle[draft.kind]} onClose={() => answer(null)} actions={<SaveButtons onCancel={() => answer(null)} disabled={busy || !title.trim() || !text.trim()} />}>
      <form id={FORM} class="library-form" onSubmit={submit}>
        {note && <p class="muted">{note}</p>}
        <TextField label={texts.title} value={title} onText={setTitle} autofocus autocomplete="off" required spellcheck />
        {draft.kind === 'prompt' && <TextArea label={texts.text} rows={6} value={text} onText={setText} spellcheck />}
        <Select
          label={texts.database}
          value={place}
          choices={[...(here ? [{ value: here, label: texts.onlyHere(here) }] : []), { value: '', label: texts.anyDatabase }]}
          onChoose={setPlace}
        />
        <div>
          <Switch label={texts.shareWithOthers} on={shared} onToggle={setShared} />
          <p class="hint">{texts.shareHint(place || null)}</p>
        </div>
        {problem !== null && <ProblemBanner problem={problem} />}
      </form>
    </Dialog>
  )
}

/** Another title; the text of a query is changed in its tab, that of a prompt here. */
function Edit({ asked: { item, answer } }: Of<'edit'>) {
  const [title, setTitle] = useState(item.title)
  const [text, setText] = useState(item.text)
  const isPrompt = item.kind === 'prompt'
  return (
    <Dialog title={isPrompt ? texts.editTitle : texts.renameTitle} onClose={() => answer(null)} actions={<SaveButtons onCancel={() => answer(null)} disabled={!title.trim() || !text.trim()} />}>
      <form
        id={FORM}
        class="library-form"
        onSubmit={(event) => {
          event.preventDefault()
          answer({ title: title.trim(), ...(isPrompt && { text }) })
        }}
      >
        <TextField label={texts.title} value={title} onText={setTitle} autofocus autocomplete="off" required spellcheck />
        {isPrompt && <TextArea label={texts.text} rows={6} value={text} onText={setText} spellcheck />}
      </form>
    </Dialog>
  )
}

function Remove({ asked: { item, answer } }: Of<'remove'>) {
  return (
    <Dialog
      title={texts.removeTitle}
      onClose={() => answer(false)}
      actions={
        <>
          <Button autofocus onClick={() => answer(false)}>
            {texts.cancel}
          </Button>
          <Button kind="danger" onClick={() => answer(true)}>
            {texts.remove}
          </Button>
        </>
      }
    >
      <p>
        <Foreign text={texts.removeText(item.title)} />
      </p>
    </Dialog>
  )
}

/** Both versions of an item that was changed elsewhere. Nothing is overwritten by Enter alone. */
function Changed({ asked: { mine, theirs, answer } }: Of<'changed'>) {
  return (
    <Dialog
      title={texts.changedTitle}
      wide
      onClose={() => answer(false)}
      actions={
        <>
          <Button autofocus onClick={() => answer(false)}>
            {texts.keepTheirs}
          </Button>
          <Button kind="danger" onClick={() => answer(true)}>
            {texts.overwrite}
          </Button>
        </>
      }
    >
      <p>
        <Foreign text={texts.changedText(theirs.owner, theirs.updated_at)} />
      </p>
      <Version name={texts.theirs} item={theirs} />
      <Version name={texts.mine} item={mine} />
    </Dialog>
  )
}

const Version = ({ name, item }: { name: string; item: LibraryItem }) => (
  <section class="library-version">
    <h3>
      {name}: <Foreign text={item.title} />
    </h3>
    <CodeText text={item.text} label={name} />
  </section>
)
