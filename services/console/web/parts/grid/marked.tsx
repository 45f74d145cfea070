import { markedParts } from './marks'

/** A text with marks for characters that cannot be seen. */
export function Marked({ text, lines = false }: { readonly text: string; readonly lines?: boolean }) {
  return (
    <>
      {markedParts(text, !lines).map((part, index) =>
        part.mark ? (
          <span key={index} class="grid-mark">
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
    </>
  )
}
