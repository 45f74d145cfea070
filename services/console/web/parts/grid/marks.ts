/** Texts of cells on one line: lines, tabs and hidden characters become marks. */
import { hasHidden, pieces } from '../foreign'

/** A part of a text; a mark stands for one character that would not be seen. */
export interface Part {
  readonly text: string
  readonly mark: boolean
}

const LINES = /([\n\r\t])/
const SIGNS: Record<string, string> = { '\n': '⏎', '\r': '␍', '\t': '⇥' }

/** Reports texts that need marks when they are shown on one line. */
export function needsMarks(text: string): boolean {
  return LINES.test(text) || hasHidden(text)
}

/** Cuts a text into what is shown as it is and what is shown as a mark. */
export function markedParts(text: string): Part[] {
  const parts = text.split(LINES).flatMap((part): Part[] => {
    const sign = SIGNS[part]
    if (sign) return [{ text: sign, mark: true }]
    return pieces(part).map((piece) =>
      'text' in piece ? { text: piece.text, mark: false } : { text: piece.hidden, mark: true },
    )
  })
  return parts.filter((part) => part.text !== '')
}
