import { useEffect } from 'preact/hooks'
import { connection, tryNow } from '../api/connection'
import type { Session, SignedOut } from '../api/session'
import { Banner, ProblemBanner } from '../parts/banner'
import { Button } from '../parts/button'
import { Dialog } from '../parts/dialog'
import { Empty } from '../parts/facts'
import { Loading } from '../parts/loading'
import { setTheme } from '../parts/theme'
import { Toasts } from '../parts/toast'
import { SignInForm } from '../screens/sign-in/form'
import SignIn from '../screens/sign-in/sign-in'
import { shell as text } from '../text/shell'
import type { Command } from './commands'
import { FrameBanners, ScreenMenu, TopBar } from './frame'
import { THEMES } from '../look/themes'
import { isCommand, nextRegion } from './keys'
import { KeyList, keyListOpen } from './key-list'
import { Palette, paletteOpen } from './palette'
import { keepsLibrary } from './library'
import { database, go, place, replace } from './router'
import { SavedCommands } from './saved-commands'
import { ScreenHost } from './screen-host'
import { SCREENS, screensFor, titleOf } from './screens'
import { available, declineToSignIn, giveUp, isIn, leave, over, session, sessionProblem, startSession } from './session'

/** The console: the page for signing in, or the frame with a screen in it. */
export function App() {
  const current = session.value
  useEffect(() => {
    void startSession()
  }, [])
  useTitle(current)
  return (
    <>
      {current === null ? <Starting /> : isIn(current) ? <Frame session={current} /> : <SignIn session={current} />}
      <Toasts />
    </>
  )
}

function Starting() {
  const problem = sessionProblem.value
  return (
    <main class="starting" id="content">
      {problem !== null ? (
        <ProblemBanner problem={problem} onRetry={() => void startSession()} />
      ) : connection.value.since !== null ? (
        <Banner kind="danger" title={text.goneTitle} actions={<Button onClick={tryNow}>{text.tryAgain}</Button>}>
          {text.gone}
        </Banner>
      ) : (
        <Loading />
      )}
    </main>
  )
}

function Frame({ session: caller }: { session: Session }) {
  const screens = screensFor(caller)
  const { screen } = place.value
  useEffect(() => {
    const first = screens[0]
    if (first && (screen === '' || screen === 'sign-in')) replace({ screen: first.name })
  }, [screen])
  useEffect(() => {
    addEventListener('keydown', onKey, true)
    return () => removeEventListener('keydown', onKey, true)
  }, [])
  return (
    <>
      <a class="skip" href="#content" onClick={toContent}>
        {text.skip}
      </a>
      <div class="frame">
        <TopBar session={caller} />
        <ScreenMenu screens={screens} />
        <main class="content" id="content" tabIndex={-1} data-region>
          <FrameBanners session={caller} />
          <Content caller={caller} />
        </main>
      </div>
      {paletteOpen.value && keepsLibrary(caller) && <SavedCommands />}
      {paletteOpen.value && <Palette commands={commands(caller)} />}
      {keyListOpen.value && <KeyList />}
      {over.value && (over.value.action === null ? <SessionOver caller={caller} /> : <RecentSignIn caller={caller} action={over.value.action} />)}
    </>
  )
}

function Content({ caller }: { caller: Session }) {
  const { screen: name } = place.value
  const known = SCREENS.find((screen) => screen.name === name)
  if (known && !screensFor(caller).includes(known)) return <Message title={text.notAllowed}>{text.notAllowedText}</Message>
  if (known) return <ScreenHost screen={known} />
  if (SCREENS.length === 0) return <Message title={text.product}>{text.nothingBuilt}</Message>
  if (name === '' || name === 'sign-in') return null
  return (
    <Message title={text.notFound} start>
      {text.notFoundText}
    </Message>
  )
}

const Message = ({ title, children, start }: { title: string; children: string; start?: boolean }) => (
  <div class="screen-message">
    <h1>{title}</h1>
    <Empty title={children} actions={start && <Button onClick={() => go({ screen: '' })}>{text.start}</Button>} />
  </div>
)

function SessionOver({ caller }: { caller: Session }) {
  return (
    <Dialog title={text.sessionOver} onClose={giveUp} closable={false}>
      <p>{text.sessionOverText}</p>
      <SignInForm initialUser={caller.user ?? ''} browser={caller.browser_sign_in === true} />
      <Button kind="quiet" class="wide" onClick={giveUp}>
        {text.leave}
      </Button>
    </Dialog>
  )
}

function RecentSignIn({ caller, action }: { caller: Session; action: string }) {
  return (
    <Dialog title={text.signInAgain} onClose={declineToSignIn}>
      <p>{text.signInAgainText}</p>
      <p>
        {text.signInAgainThen} <strong class="foreign">{action}</strong>
      </p>
      <SignInForm initialUser={caller.user ?? ''} usersOnly browser={caller.browser_sign_in === true} again submit={text.signInAndGoOn} />
    </Dialog>
  )
}

// The address behind `#` is the screen's own, so the link moves the focus itself.
function toContent(event: MouseEvent): void {
  event.preventDefault()
  event.stopPropagation()
  document.getElementById('content')?.focus()
}

function onKey(event: KeyboardEvent): void {
  const dialog = document.querySelector('dialog[open]') !== null
  if (isCommand(event, 'k') && (!dialog || paletteOpen.peek())) {
    event.preventDefault()
    event.stopPropagation()
    paletteOpen.value = !paletteOpen.peek()
  } else if (isCommand(event, '/') && !dialog) {
    event.preventDefault()
    event.stopPropagation()
    keyListOpen.value = true
  } else if (event.key === 'F6' && !dialog && !event.ctrlKey && !event.altKey && !event.metaKey) {
    event.preventDefault()
    nextRegion(event.shiftKey)
  }
}

function commands(caller: Session): Command[] {
  const { groups, goTo, use } = text.palette
  const screens = screensFor(caller).map(
    ({ name, title, icon }): Command => ({ group: groups.screens, label: goTo(title), icon, run: () => go({ screen: name }) }),
  )
  const databases = (available.value ?? []).map(
    ({ name, allow_writes }): Command => ({
      group: groups.databases,
      label: use(name),
      icon: 'database',
      note: allow_writes ? text.mayWrite : text.readOnly,
      run: () => go({ query: { db: name } }),
    }),
  )
  const themes = THEMES.map(
    (name): Command => ({ group: groups.actions, label: `${text.theme}: ${text.themes[name]}`, icon: 'theme', run: () => setTheme(name) }),
  )
  const actions: Command[] = [
    { group: groups.actions, label: text.keys, icon: 'info', run: () => (keyListOpen.value = true) },
    { group: groups.actions, label: text.apiReference, icon: 'document', run: () => location.assign('/docs') },
    ...(caller.auth ? [{ group: groups.actions, label: text.signOut, icon: 'sign-out' as const, run: () => void leave() }] : []),
  ]
  return [...screens, ...databases, ...themes, ...actions]
}

function useTitle(current: Session | SignedOut | null): void {
  const { screen } = place.value
  const name = database.value
  useEffect(() => {
    const parts = isIn(current) && screen ? [titleOf(screen), name] : []
    document.title = [...parts.filter((part) => part && part !== text.product), text.product].join(' · ')
  }, [current, screen, name])
}
