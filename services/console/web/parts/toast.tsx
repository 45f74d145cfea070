import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { shell } from '../text/shell'
import { IconButton } from './button'
import { Foreign } from './foreign'
import { Icon } from './icon'

interface Toast {
  id: number
  text: string
  kind: 'ok' | 'danger'
}

const LIFETIME = 6000 // milliseconds
const AT_ONCE = 3

const toasts = signal<Toast[]>([])
let next = 1

/** The places that toasts can be shown in; the last one is over the others. */
const places = signal<readonly object[]>([])

/** Confirms in a corner that something was done. Never for what a person has to read or answer. */
export function toast(text: string, kind: Toast['kind'] = 'ok'): void {
  const id = next++
  toasts.value = [...toasts.peek(), { id, text, kind }].slice(-AT_ONCE)
  setTimeout(() => dismiss(id), LIFETIME)
}

function dismiss(id: number): void {
  toasts.value = toasts.peek().filter((toast) => toast.id !== id)
}

/** Place of the toasts: one of the page, and one of each dialog, because a dialog covers and silences the page. */
export function Toasts() {
  const [own] = useState(() => ({}))
  useEffect(() => {
    places.value = [...places.peek(), own]
    return () => {
      places.value = places.peek().filter((place) => place !== own)
    }
  }, [])
  const shown = places.value.at(-1) === own ? toasts.value : []
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, kind }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === 'ok' ? 'check' : 'error'} size={16} />
          <span>
            <Foreign text={text} />
          </span>
          <IconButton icon="close" name={shell.close} tip="end" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  )
}

/** Puts a text on the clipboard and says if that worked. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    toast(shell.copied)
  } catch {
    toast(shell.notCopied, 'danger')
  }
}
