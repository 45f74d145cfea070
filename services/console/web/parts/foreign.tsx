/** Characters that cannot be seen, or that turn the direction of the text around them. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu

const ANY_HIDDEN = new RegExp(HIDDEN.source, 'u')

/** Tells if a text has hidden characters. */
export const hasHidden = (text: string): boolean => ANY_HIDDEN.test(text)

/** A piece of a text: as it is, or a character that is shown by its number. */
export type Piece = { text: string } | { hidden: string }

/** Cuts a text at its hidden characters. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = []
  let from = 0
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) found.push({ text: text.slice(from, match.index) })
    found.push({ hidden: `U+${match[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}` })
    from = match.index + match[0].length
  }
  if (from < text.length) found.push({ text: text.slice(from) })
  return found
}

/** A text of a user, a database or a model. It is isolated, and hidden characters in it are shown as marks. */
export function Foreign({ text }: { text: string }) {
  return (
    <bdi class="foreign">
      {pieces(text).map((piece, at) =>
        'text' in piece ? (
          piece.text
        ) : (
          <span key={at} class="hidden-character" title={piece.hidden}>
            {piece.hidden}
          </span>
        ),
      )}
    </bdi>
  )
}
