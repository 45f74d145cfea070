import { useEffect, useRef, useState } from 'preact/hooks'
import { models, providers } from '../../api/chat'
import { conversations, type Listed } from '../../api/conversations'
import { ProblemBanner } from '../../parts/banner'
import { Button, IconButton } from '../../parts/button'
import { ConfirmChange } from '../../parts/changed-rows/confirm-change'
import { Foreign } from '../../parts/foreign'
import { Dialog } from '../../parts/dialog'
import { Select, type Choice } from '../../parts/field'
import { useLoaded } from '../../parts/loaded'
import { Loading } from '../../parts/loading'
import { saveText } from '../../parts/save'
import { Splitter } from '../../parts/splitter'
import { database, place, replace } from '../../shell/router'
import { isIn, session } from '../../shell/session'
import { ask as text } from '../../text/ask'
import { Composer } from './composer'
import { ConversationList } from './conversation-list'
import { askQuestion, type Choices, confirming, decide, keepProblem, keptId, openKept, running, startNew, turns } from './dialogue'
import { type Tool, toolsForModel } from './loop'
import { NoModel } from './no-model'
import { TurnView } from './turn-view'
import { answerOf, markdownOf } from './turns'

/** The screen for asking a model, which answers with the tools of the server. */
export default function Ask() {
  const caller = session.value
  if (!isIn(caller)) return null
  return caller.features.llm ? <Asking keeps={caller.features.conversations && caller.kind === 'user'} user={caller.user ?? text.yourself} /> : <Without />
}

const Without = () => (
  <div class="screen ask-screen ask-without">
    <h1 class="spoken">{text.title}</h1>
    <NoModel />
  </div>
)

interface Models {
  provider: string
  model: string
  providers: Choice[]
  models: Choice[]
}

/** Reads the providers, and the models of one: of the default one if none is named. */
async function modelsOf(wanted: string, signal: AbortSignal): Promise<Models> {
  const found = await providers(signal)
  const provider = wanted || (found.providers.find(({ isDefault }) => isDefault) ?? found.providers[0])?.name || ''
  // A provider that cannot list its models still has its default one.
  const list = await models(provider, signal).then(({ models: listed }) => listed.map(({ name, description }) => ({ value: name, label: description || name })), () => [])
  const model = wanted ? (list[0]?.value ?? '') : found.defaultModel
  const all = list.some(({ value }) => value === model) || !model ? list : [{ value: model, label: model }, ...list]
  return { provider, model, providers: found.providers.map(({ name, display }) => ({ value: name, label: display })), models: all }
}

/** The providers, the models of the chosen one, and the chosen model. */
function useModels() {
  const wanted = useRef('')
  const { value, again, ...rest } = useLoaded((signal) => modelsOf(wanted.current, signal))
  const [chosen, setModel] = useState('')
  const known = value && (value.models.some((model) => model.value === chosen) ? { ...value, model: chosen } : value)
  const choose = (provider: string) => {
    wanted.current = provider
    again()
  }
  return { known, again, choose, setModel, ...rest }
}

function Asking({ keeps, user }: { keeps: boolean; user: string }) {
  const { known, problem, again, stop, choose, setModel } = useModels()
  const [tools, setTools] = useState<Tool[]>([])
  const [toolProblem, setToolProblem] = useState<unknown>(null)
  const [list, setList] = useState<Listed[]>([])
  const [drawer, setDrawer] = useState(false)
  const [opening, setOpening] = useState<unknown>(null)
  const foot = useRef<HTMLDivElement>(null)
  const open = place.value.query.get('open') ?? ''
  const [words, setWords] = useState('')
  const refresh = () => void (keeps && conversations(words).then(setList, () => {}))

  useEffect(() => void toolsForModel().then(setTools, setToolProblem), [])
  useEffect(() => {
    if (!keeps) return
    let current = true
    const timer = setTimeout(() => conversations(words).then((found) => current && setList(found), () => {}), 200)
    return () => {
      current = false
      clearTimeout(timer)
    }
  }, [words, keptId.value])
  useEffect(() => {
    if (!open || !keeps) return
    setOpening(null)
    openKept(open).catch(setOpening)
  }, [open])
  useEffect(() => {
    if (keptId.value && keptId.value !== open) replace({ query: { open: keptId.value } })
  }, [keptId.value])
  useEffect(() => foot.current?.scrollIntoView({ block: 'end' }), [turns.value.length])
  useEffect(() => () => running.peek()?.abort(), [])

  if (problem || !known)
    return (
      <>
        <h1 class="spoken">{text.title}</h1>
        {problem ? <div class="screen-message"><ProblemBanner problem={problem} onRetry={again} /></div> : <Loading onStop={stop} />}
      </>
    )
  const isLocal = known.provider === 'local'
  const choices: Choices = { provider: known.provider, model: known.model, database: database.value, tools: isLocal ? [] : tools, keeps }
  const conversation = keeps ? <ConversationList list={list} words={words} onWords={setWords} onChange={refresh} onChoose={() => setDrawer(false)} /> : <NotKept onChoose={() => setDrawer(false)} />
  return (
    <div class="screen ask-screen">
      <aside class="ask-list" aria-label={text.conversations} data-region>
        {conversation}
      </aside>
      <Splitter name="ask-list-size" label={text.conversations} initial={232} smallest={180} largest={420} />
      <section class="ask-work" aria-label={text.title} data-region>
        <div class="ask-bar">
          <h1>{text.title}</h1>
          <Button class="ask-open-list" onClick={() => setDrawer(true)}>
            {text.openList}
          </Button>
          {known.providers.length > 1 && <Select label={text.provider} value={known.provider} choices={known.providers} onChoose={choose} />}
          {known.models.length > 0 && <Select label={text.model} value={known.model} choices={known.models} onChoose={setModel} />}
          {turns.value.length > 0 && (
            <IconButton icon="download" name={text.exportMarkdown} tip="end" onClick={() => saveText(markdownOf(text.title, turns.peek()), 'conversation.md', 'text/markdown')} />
          )}
        </div>
        <div class="dialogue">
          <div class="dialogue-column">
            {opening !== null && <ProblemBanner problem={opening} />}
            {toolProblem !== null && <ProblemBanner problem={toolProblem} />}
            {turns.value.length === 0 && (
              <div class="dialogue-start">
                <h2>{text.startTitle(database.value)}</h2>
                <p class="muted">{isLocal ? text.local : text.startText}</p>
              </div>
            )}
            {turns.value.map((turn) => (
              <TurnView key={turn.id} turn={turn} user={user} choices={choices} />
            ))}
            {keepProblem.value !== null && <ProblemBanner problem={keepProblem.value} />}
            <div ref={foot} />
          </div>
        </div>
        <div class="dialogue-column">
          <Composer onSend={(question) => void askQuestion(question, choices)} />
        </div>
      </section>
      <Announcer />
      {drawer && (
        <Dialog title={text.conversations} side="start" onClose={() => setDrawer(false)}>
          {conversation}
        </Dialog>
      )}
      {confirming.value && <Confirm />}
    </div>
  )
}

const NotKept = ({ onChoose }: { onChoose: () => void }) => (
  <div class="conversation-list">
    <Button
      icon="plus"
      class="wide"
      onClick={() => {
        startNew()
        onChoose()
      }}
    >
      {text.newOne}
    </Button>
    <p class="muted">{text.notKept}</p>
  </div>
)

/** All of a write before it runs. */
function Confirm() {
  const what = confirming.value?.what
  if (!what) return null
  return (
    <ConfirmChange title={text.confirmTitle} text={what.statement} run={text.runIt} seen={what.seen} onDecide={decide}>
      <p>
        <Foreign text={text.confirmText(what.database)} />
      </p>
    </ConfirmChange>
  )
}

/** Tells screen readers of each step by name, and of the answer once, when it is whole. */
function Announcer() {
  const last = turns.value.at(-1)
  const part = last?.parts.at(-1)
  const said = !last ? '' : last.state === 'answering' ? (part?.kind === 'step' ? text.running(part.step.tool) : text.answering) : last.state === 'done' ? answerOf(last) : ''
  return (
    <div class="spoken" role="status" aria-live="polite">
      {said}
    </div>
  )
}
