import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { wasStopped } from '../api/problem'
import { ProblemBanner } from '../parts/banner'
import { Button } from '../parts/button'
import { Dialog } from '../parts/dialog'
import { shell as text } from '../text/shell'
import { withRecentSignIn } from './recent-sign-in'

/** A dialog for one change: its fields, the button that makes it, and what the server says against it. */
export function ChangeDialog<T>({
  title,
  submit,
  action,
  danger = false,
  ready = true,
  check = () => true,
  change,
  onDone,
  onClose,
  children,
}: {
  title: string
  /** Text of the button. */
  submit: string
  /** Sentence about what is done, for the dialog that asks for a recent sign-in. */
  action: string
  /** Is true for what cannot be undone. */
  danger?: boolean
  /** Is false while the button may not be pressed. */
  ready?: boolean
  /** Returns false if a field is wrong; the field then says so and has the focus. */
  check?: () => boolean
  change: () => Promise<T>
  onDone: (result: T) => void
  onClose: () => void
  children: ComponentChildren
}) {
  const id = useId()
  const busy = useRef(false)
  const [waits, setWaits] = useState(false)
  const [problem, setProblem] = useState<unknown>(null)
  const run = async (event: SubmitEvent) => {
    event.preventDefault()
    if (busy.current || !ready || !check()) return
    busy.current = true
    setWaits(true)
    setProblem(null)
    try {
      onDone(await withRecentSignIn(action, change))
    } catch (failure) {
      if (!wasStopped(failure)) setProblem(failure)
    } finally {
      busy.current = false
      setWaits(false)
    }
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{text.cancel}</Button>
          <Button kind={danger ? 'danger' : 'main'} type="submit" form={id} disabled={waits || !ready}>
            {submit}
          </Button>
        </>
      }
    >
      <form id={id} class="change-form" onSubmit={run} noValidate>
        {problem !== null && <ProblemBanner problem={problem} />}
        {children}
      </form>
    </Dialog>
  )
}
