/** A piece of a passage: as it is, or a word of the question. */
export interface Marked {
  text: string
  mark: boolean
}

/** Shortest word that is marked: shorter ones stand in every text. */
const SHORTEST = 3

/** Cuts a passage at the words of a question, whatever their case and their ends. */
export function marked(passage: string, question: string): Marked[] {
  const stems = [...new Set(words(question).filter((word) => word.length >= SHORTEST).map(stem))]
  if (!stems.length) return [{ text: passage, mark: false }]
  const found: Marked[] = []
  let from = 0
  for (const match of passage.matchAll(/[\p{L}\p{N}]+/gu)) {
    if (!stems.includes(stem(match[0].toLowerCase()))) continue
    if (match.index > from) found.push({ text: passage.slice(from, match.index), mark: false })
    found.push({ text: match[0], mark: true })
    from = match.index + match[0].length
  }
  if (from < passage.length) found.push({ text: passage.slice(from), mark: false })
  return found
}

const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** Takes common endings of English words off, so that `slugs` marks `slug`. */
const stem = (word: string): string => (word.length > SHORTEST + 1 ? word.replace(/(ing|ies|es|ed|s|y)$/, '') : word)
