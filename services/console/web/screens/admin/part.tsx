import type { ComponentChildren } from 'preact'
import { Problem } from '../../api/problem'
import { ProblemBanner } from '../../parts/banner'
import { Empty } from '../../parts/facts'
import { TextField } from '../../parts/field'
import type { Loaded } from '../../parts/loaded'
import { Loading } from '../../parts/loading'
import { admin as text } from '../../text/admin'

/** A part of the screen: what was loaded, the skeleton before that, and the failure. */
export function Part<T>({ loaded: { value, problem, again, stop }, children }: { loaded: Loaded<T>; children: (value: T) => ComponentChildren }) {
  if (problem instanceof Problem && problem.status === 404) {
    return (
      <Empty icon="admin" title={text.notHere}>
        {text.notHereText}
      </Empty>
    )
  }
  return (
    <div class="admin-part">
      {problem !== null && <ProblemBanner problem={problem} onRetry={again} />}
      {value !== null ? children(value) : problem === null && <Loading lines={6} onStop={stop} />}
    </div>
  )
}

/** The row above a list: its actions, and words that it is filtered by. */
export function ListBar({ words, onWords, children }: { words: string; onWords: (words: string) => void; children?: ComponentChildren }) {
  return (
    <div class="admin-bar">
      {children}
      <TextField label={text.filter} quiet type="search" placeholder={text.filter} value={words} onText={onWords} autocomplete="off" />
    </div>
  )
}

/** Tells if one of several texts has the words of a filter. */
export const fits = (words: string, ...texts: (string | null | undefined)[]): boolean => {
  const wanted = words.trim().toLowerCase()
  return texts.some((text) => text?.toLowerCase().includes(wanted)) || wanted === ''
}
