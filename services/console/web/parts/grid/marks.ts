/** Marks for characters that cannot be seen or that change the direction of a text. */

/** A part of a text; a mark stands for one character that would not be seen. */
export interface Part {
  readonly text: string
  readonly mark: boolean
}

const HIDDEN =
  // The ranges of control, format and filler characters that the server escapes in texts.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/u
const LINES = /[\n\r\t]/
const ONE = new RegExp(`(${HIDDEN.source}|${LINES.source})`, 'u')
const SIGNS: Record<string, string> = { '\n': '⏎', '\r': '␍', '\t': '⇥' }

/** Reports texts that need marks when they are shown on one line. */
export function needsMarks(text: string): boolean {
  return HIDDEN.test(text) || LINES.test(text)
}

/** Cuts a text into what is shown as it is and what is shown as a mark. */
export function markedParts(text: string, oneLine = true): Part[] {
  const expression = oneLine ? ONE : new RegExp(`(${HIDDEN.source})`, 'u')
  return text
    .split(expression)
    .map((part, index) => (index % 2 === 1 ? { text: sign(part), mark: true } : { text: part, mark: false }))
    .filter((part) => part.text !== '')
}

function sign(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return SIGNS[character] ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}
