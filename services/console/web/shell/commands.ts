import { signal } from '@preact/signals'
import type { IconName } from '../parts/icon'

/** Something that the palette finds and does. */
export interface Command {
  group: string
  label: string
  icon: IconName
  /** Second text, such as a kind or keys. */
  note?: string
  run: () => void
}

/** Finds commands for the words that a person types. */
export type Source = (words: string) => Command[]

const sources = signal<readonly Source[]>([])

/** Adds commands to the palette until the returned function is called. */
export function addCommands(source: Source): () => void {
  sources.value = [...sources.peek(), source]
  return () => {
    sources.value = sources.peek().filter((other) => other !== source)
  }
}

const MOST = 60

/** Commands that fit words. Those whose label begins with the words come first. */
export function find(words: string, own: Command[]): Command[] {
  const wanted = words.trim().toLowerCase()
  const all = [...own, ...sources.value.flatMap((source) => source(wanted))]
  return all
    .map((command, at) => ({ command, at, rank: rankOf(command.label.toLowerCase(), wanted) }))
    .filter(({ rank }) => rank < NONE)
    .sort((a, b) => a.rank - b.rank || a.at - b.at)
    .slice(0, MOST)
    .map(({ command }) => command)
}

const NONE = 4

function rankOf(label: string, wanted: string): number {
  if (wanted === '') return 0
  if (label.startsWith(wanted)) return 1
  if (label.includes(` ${wanted}`)) return 2
  return wanted.split(/\s+/).every((word) => label.includes(word)) ? 3 : NONE
}
