import { useEffect, useRef, useState } from 'preact/hooks'
import { Problem } from '../../api/problem'
import { Banner } from '../../parts/banner'
import { Button } from '../../parts/button'
import { TextField } from '../../parts/field'
import { Tabs } from '../../parts/tabs'
import { continueInBrowser } from '../../shell/browser-sign-in'
import { browserProblem, enter } from '../../shell/session'
import { signIn as text } from '../../text/sign-in'

type Way = 'user' | 'token'

/** Asks for a name and a password, or for an API token. Values leave this component only to sign in. */
export function SignInForm({
  initialUser = '',
  usersOnly = false,
  browser = false,
  again = false,
  submit: submitText = text.submit,
}: {
  initialUser?: string
  /** Leaves the way with an API token out. */
  usersOnly?: boolean
  /** Offers the browser sign-in. */
  browser?: boolean
  /** Has the browser sign-in ask for a new sign-in. */
  again?: boolean
  /** Text of the button. */
  submit?: string
}) {
  const [way, setWay] = useState<Way>('user')
  const [name, setName] = useState(initialUser)
  const [secret, setSecret] = useState('')
  const [busy, setBusy] = useState(false)
  const [message, setMessage] = useState<string | null>(() => sentenceOf(browserProblem.peek(), browser))
  const [wait, setWait] = useCountdown()
  const form = useRef<HTMLFormElement>(null)
  const failure = useRef<HTMLDivElement>(null)

  useEffect(() => {
    const fields = [...(form.current?.querySelectorAll('input') ?? [])]
    ;(fields.find((field) => field.value === '') ?? fields[0])?.focus()
  }, [way])
  useEffect(() => {
    if (message) failure.current?.focus()
  }, [message])

  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (busy || wait > 0) return
    const missing = way === 'user' ? !name || !secret : !secret
    if (missing) return setMessage(way === 'user' ? text.enterBoth : text.enterToken)
    setBusy(true)
    setMessage(null)
    try {
      await enter(way === 'user' ? { username: name, password: secret } : { token: secret })
    } catch (problem) {
      setSecret('')
      setMessage(sentenceOf(problem, browser))
      if (problem instanceof Problem && problem.status === 429) setWait(problem.retryAfter ?? 30)
    } finally {
      setBusy(false)
    }
  }

  const person = (
    <>
      <TextField label={text.name} value={name} onText={setName} name="username" autocomplete="username" required autofocus={!initialUser} />
      <TextField label={text.password} type="password" value={secret} onText={setSecret} name="password" autocomplete="current-password" required autofocus={initialUser !== ''} />
    </>
  )
  return (
    <form ref={form} class="sign-in-form" onSubmit={submit} noValidate>
      {usersOnly ? (
        person
      ) : (
        <Tabs
          label={text.way}
          tabs={[
            { name: 'user', title: text.user },
            { name: 'token', title: text.token },
          ]}
          current={way}
          onChoose={(to) => {
            setWay(to as Way)
            setSecret('')
            setMessage(null)
          }}
        >
          {way === 'user' ? (
            person
          ) : (
            <TextField label={text.tokenField} type="password" value={secret} onText={setSecret} name="token" autocomplete="off" required hint={text.tokenHint} />
          )}
        </Tabs>
      )}
      {message && (
        <div ref={failure} tabIndex={-1} class="sign-in-failure">
          <Banner kind="danger">
            {message}
            {wait > 0 && <p>{text.waits(wait)}</p>}
          </Banner>
        </div>
      )}
      <Button kind="main" type="submit" class="wide" disabled={busy || wait > 0}>
        {busy ? text.busy : submitText}
      </Button>
      {browser && (
        <Button class="wide" disabled={busy} onClick={() => void continueInBrowser(again)}>
          {text.browser}
        </Button>
      )}
    </form>
  )
}

function sentenceOf(problem: unknown, browser: boolean): string | null {
  if (problem === null || typeof problem === 'string') return problem
  if (!(problem instanceof Problem)) return problem instanceof TypeError ? text.unreachable : String(problem)
  if (problem.code === 'use_browser_sign_in') return browser ? text.browserSignIn : text.browserElsewhere
  if (problem.code === 'foreign_origin') return text.foreignOrigin
  return problem.message
}

/** Seconds that count down to 0. */
function useCountdown(): [number, (seconds: number) => void] {
  const [until, setUntil] = useState(0)
  const [now, setNow] = useState(0)
  const left = Math.max(0, Math.ceil((until - now) / 1000))
  useEffect(() => {
    if (left === 0) return
    const timer = setTimeout(() => setNow(Date.now()), 250)
    return () => clearTimeout(timer)
  }, [left, now])
  const start = (seconds: number) => {
    setNow(Date.now())
    setUntil(Date.now() + seconds * 1000)
  }
  return [left, start]
}
