import { computed, signal } from '@preact/signals'
import type { LibraryItem } from '../../api/library'
import { tokens } from '../../parts/editor/tokens'
import { sql as texts } from '../../text/sql'
import type { Run } from './run'

export type View = 'rows' | 'chart' | 'plan' | 'messages'

/** Longest title of a tab. */
const TITLE_CHARACTERS = 28

/** One tab of the editor: its text, and what its statements gave. */
export class Sheet {
  readonly text = signal('')
  readonly runs = signal<readonly Run[]>([])
  /** The run whose result is shown. */
  readonly shown = signal<Run | null>(null)
  readonly view = signal<View>('rows')
  /** Is true while statements run, one after another. */
  readonly busy = signal(false)
  /** Is true if the page was reloaded while a statement ran here. */
  readonly interrupted = signal(false)
  /** Index in the text at which the last statement failed. */
  readonly mark = signal<number | null>(null)
  /** The saved query that the tab shows, as it was read or written last. */
  readonly saved = signal<LibraryItem | null>(null)
  /** Changes when the text was changed from outside of the editor. */
  readonly revision = signal(0)

  constructor(
    readonly id: string,
    text: string,
    saved: LibraryItem | null = null,
  ) {
    this.text.value = text
    this.saved.value = saved
  }

  readonly title = computed(() => this.saved.value?.title ?? titleOf(this.text.value))

  /** Is true if the text is another one than the saved query. */
  readonly isChanged = computed(() => this.saved.value !== null && this.saved.value.text !== this.text.value)

  /** Replaces the text, also in an editor that shows it. */
  replaceText(text: string): void {
    this.text.value = text
    this.revision.value += 1
  }

  /** Stops the statement that runs, and those behind it. */
  stop(): void {
    this.busy.value = false
    for (const run of this.runs.value) run.stop()
  }
}

/** The first comment of a text, else its first words. */
export function titleOf(text: string): string {
  const [first] = tokens(text.slice(0, 500))
  if (!first) return texts.untitled
  const line =
    first.kind === 'comment'
      ? first.text.replace(/^(?:--|\/\*)\s*|\s*\*\/$/g, '')
      : text.slice(first.from).replace(/\s+/g, ' ')
  const words = (line.split('\n')[0] ?? '').trim() || texts.untitled
  return words.length > TITLE_CHARACTERS ? `${words.slice(0, TITLE_CHARACTERS - 1).trimEnd()}…` : words
}
