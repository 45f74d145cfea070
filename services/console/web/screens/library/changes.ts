import { signal } from '@preact/signals'
import { add, isChanged, isMissing, itemOf, type LibraryItem, type LibraryText, remove, write } from '../../api/library'
import { announceChange } from '../../shell/library'

/** Something about an item that a person has to answer. */
export type LibraryQuestion =
  | { kind: 'add'; draft: LibraryText; note: string | null; answer: (item: LibraryItem | null) => void }
  | { kind: 'edit'; item: LibraryItem; answer: (change: Partial<LibraryText> | null) => void }
  | { kind: 'remove'; item: LibraryItem; answer: (agreed: boolean) => void }
  | { kind: 'changed'; mine: LibraryItem; theirs: LibraryItem; answer: (overwrite: boolean) => void }

/** The question that is shown. */
export const question = signal<LibraryQuestion | null>(null)

/** Outcome of a change: the item as it is now, and if the change is in it. */
export interface Outcome {
  item: LibraryItem | null
  written: boolean
}

/** Adds an item without a question. */
export async function addItem(draft: LibraryText): Promise<LibraryItem> {
  const item = await add(draft)
  announceChange()
  return item
}

/** Asks for the title of a new item and adds it; null if the person would rather not. */
export function askToAdd(draft: LibraryText, note: string | null = null): Promise<LibraryItem | null> {
  return asked((answer) => ({ kind: 'add', draft, note, answer }))
}

/**
 * Changes an item. If another tab or user was first, the person sees both versions and chooses; an item that
 * is no longer there is the outcome `null`.
 */
export async function changeItem(item: LibraryItem, change: Partial<LibraryText>): Promise<Outcome> {
  try {
    const written = await write({ ...item, ...change })
    announceChange()
    return { item: written, written: true }
  } catch (problem) {
    if (isMissing(problem)) return { item: null, written: false }
    if (!isChanged(problem)) throw problem
    const theirs = await itemOf(item.kind, item.id)
    if (!theirs) return { item: null, written: false }
    const overwrite = await asked<boolean>((answer) => ({ kind: 'changed', mine: { ...item, ...change }, theirs, answer }))
    return overwrite ? changeItem(theirs, change) : { item: theirs, written: false }
  }
}

/** Asks for another title, for prompts also for another text, and writes them. */
export async function editItem(item: LibraryItem): Promise<Outcome> {
  const change = await asked<Partial<LibraryText> | null>((answer) => ({ kind: 'edit', item, answer }))
  return change === null ? { item, written: false } : changeItem(item, change)
}

/** Asks before an item is deleted. Resolves with true if it is gone. */
export async function removeItem(item: LibraryItem): Promise<boolean> {
  if (!(await asked<boolean>((answer) => ({ kind: 'remove', item, answer })))) return false
  try {
    await remove(item.id)
  } catch (problem) {
    if (!isMissing(problem)) throw problem
  }
  announceChange()
  return true
}

async function asked<T>(of: (answer: (value: T) => void) => LibraryQuestion): Promise<T> {
  const value = await new Promise<T>((answer) => {
    question.value = of(answer)
  })
  question.value = null
  return value
}
