import { useEffect, useRef, useState } from 'preact/hooks'
import { result } from '../../api/mcp'
import { ProblemBanner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { Dialog } from '../../parts/dialog'
import { Foreign } from '../../parts/foreign'
import { useLoaded } from '../../parts/loaded'
import { Loading } from '../../parts/loading'
import { Tabs } from '../../parts/tabs'
import { toast } from '../../parts/toast'
import { keepsLibrary } from '../../shell/library'
import { database } from '../../shell/router'
import { isIn, session } from '../../shell/session'
import { ask as text } from '../../text/ask'
import { library } from '../../text/library'
import { tools } from '../../text/tools'
import { askToAdd } from '../library/changes'
import { ItemList } from '../library/item-list'
import { LibraryQuestions } from '../library/questions'
import { callOf, completions, type Item, prompts } from '../tools/catalogue'
import { collect, type Draft, draftOf } from '../tools/schema'
import { SchemaForm } from '../tools/schema-form'
import { draft, insert } from './dialogue'

const TITLE_CHARACTERS = 60

/** Prompts of the server and of the person. One is put into the field for questions, and not sent. */
export function Prompts({ onClose }: { onClose: (inserted: boolean) => void }) {
  const [tab, setTab] = useState('server')
  const put = (words: string) => {
    insert(words)
    onClose(true)
  }
  return (
    <>
      <Dialog title={text.prompts} side="end" onClose={() => onClose(false)}>
        <Tabs
          label={text.prompts}
          tabs={[
            { name: 'server', title: text.promptsOfServer },
            { name: 'own', title: library.saved },
          ]}
          current={tab}
          onChoose={setTab}
        >
          {tab === 'server' ? <OfServer onInsert={put} /> : <Own onInsert={put} />}
        </Tabs>
      </Dialog>
      <LibraryQuestions />
    </>
  )
}

/** The prompts that the library keeps, and the way to keep the question that is being written. */
function Own({ onInsert }: { onInsert: (words: string) => void }) {
  const caller = session.value
  const written = draft.value.trim()
  const add = () =>
    askToAdd({ kind: 'prompt', title: written.split('\n')[0]?.slice(0, TITLE_CHARACTERS) ?? '', text: written, database: database.peek() || null, tags: [], shared: false }).then((item) => item && toast(library.done(item.title)))
  return (
    <div class="prompt-list">
      {isIn(caller) && keepsLibrary(caller) && (
        <Button icon="plus" class="wide" onClick={() => void add()}>
          {written ? text.saveQuestion : text.newPrompt}
        </Button>
      )}
      <ItemList kind="prompt" onOpen={(item) => onInsert(item.text)} />
    </div>
  )
}

function OfServer({ onInsert }: { onInsert: (words: string) => void }) {
  const { value: list, problem, again, stop } = useLoaded(prompts)
  const [chosen, setChosen] = useState<Item | null>(null)
  if (problem !== null) return <ProblemBanner problem={problem} onRetry={again} />
  if (!list) return <Loading lines={5} onStop={stop} />
  if (chosen) return <PromptForm key={chosen.name} item={chosen} onBack={() => setChosen(null)} onInsert={onInsert} />
  if (list.length === 0) return <p class="muted prompt-list">{text.noPrompts}</p>
  return (
    <ul class="prompt-list">
      {list.map((item) => (
        <li key={item.name}>
          <button type="button" class="library-open" onClick={() => setChosen(item)}>
            <span class="prompt-name">
              <Foreign text={item.title || item.name} />
            </span>
            <span class="muted">
              <Foreign text={item.description} />
            </span>
          </button>
        </li>
      ))}
    </ul>
  )
}

interface PromptAnswer {
  messages: { content: { type: string; text?: string } }[]
}

/** The arguments of a prompt of the server. */
function PromptForm({ item, onBack, onInsert }: { item: Item; onBack: () => void; onInsert: (words: string) => void }) {
  const [values, setValues] = useState<Draft>(() => draftOf(item.schema, undefined))
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [problem, setProblem] = useState<unknown>(null)
  const running = useRef(new AbortController())
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    heading.current?.focus()
    return () => running.current.abort()
  }, [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const found = collect(item.schema, values, tools.wrong)
    setErrors(found.errors)
    if (Object.keys(found.errors).length) return
    const { method, params } = callOf(item, (found.value ?? {}) as Record<string, unknown>)
    setProblem(null)
    result<PromptAnswer>(method, params, { signal: running.current.signal }).then(
      ({ messages }) => onInsert(messages.flatMap(({ content }) => (content.type === 'text' && content.text ? [content.text] : [])).join('\n\n')),
      (failed) => running.current.signal.aborted || setProblem(failed),
    )
  }
  return (
    <form class="prompt-form" onSubmit={submit} noValidate>
      <h3 ref={heading} tabIndex={-1}>
        <Foreign text={item.title || item.name} />
      </h3>
      {item.description && (
        <p class="muted">
          <Foreign text={item.description} />
        </p>
      )}
      <SchemaForm schema={item.schema} draft={values} errors={errors} onChange={setValues} complete={(name, value, signal) => completions(item, name, value, signal)} />
      {problem !== null && <ProblemBanner problem={problem} />}
      <p class="muted">{text.promptHint}</p>
      <div class="button-row">
        <Button kind="main" type="submit">
          {text.insert}
        </Button>
        <Button onClick={onBack}>{text.back}</Button>
      </div>
    </form>
  )
}
