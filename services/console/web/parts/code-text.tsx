import { shell } from '../text/shell'
import { IconButton } from './button'
import { Foreign, hasHidden } from './foreign'
import { copy } from './toast'

export type Language = 'json' | 'plain'

const JSON_TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Texts beyond this length are shown without colours. */
const COLOURED = 200_000

/** A text in the fixed-width font, with a button that copies it. JSON is coloured. Hidden characters are shown as marks. */
export function CodeText({ text, language = 'plain', label, copies = true }: { text: string; language?: Language; label?: string; copies?: boolean }) {
  const coloured = language === 'json' && text.length <= COLOURED
  return (
    <div class="code-text">
      <pre tabIndex={0} {...(label && { role: 'region', 'aria-label': label })}>
        <code>{hasHidden(text) ? <Foreign text={text} /> : coloured ? colour(text) : text}</code>
      </pre>
      {copies && <IconButton icon="copy" name={shell.copy} tip="end" class="code-copy" onClick={() => copy(text)} />}
    </div>
  )
}

function colour(text: string) {
  const parts = []
  let from = 0
  for (const match of text.matchAll(JSON_TOKENS)) {
    if (match.index > from) parts.push(text.slice(from, match.index))
    const [token, name] = match
    parts.push(
      <span key={match.index} class={name ? 'json-name' : token.startsWith('"') ? 'json-text' : /^[-\d]/.test(token) ? 'json-number' : 'json-word'}>
        {token}
      </span>,
    )
    from = match.index + token.length
  }
  parts.push(text.slice(from))
  return parts
}
