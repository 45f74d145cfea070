import { Lexer, type Token, type Tokens } from 'marked'
import { type ComponentChild, Fragment } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { markdown as text } from '../text/markdown'
import { CodeText } from './code-text'
import { Foreign } from './foreign'

/** Ways of a text that are decided by the page around it. */
export interface Hooks {
  /** Asks before a link is opened. */
  onLink: (address: string) => void
  /** Shows words that are neither code nor markup, such as with links of its own in them. */
  words?: (words: string) => ComponentChild
}

const DEEPEST = 12

/** Marks of emphasis in one text, at most: reading them takes time in the square of their number. */
const MOST_MARKS = 1000

/** Reads Markdown; a text of marks stays as it is. */
class Reader extends Lexer {
  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    if ((source.match(/[*_~]/g)?.length ?? 0) <= MOST_MARKS) return super.inlineTokens(source, tokens)
    tokens.push({ type: 'text', raw: source, text: source, escaped: false })
    return tokens
  }
}

const lexer = (source: string) => new Reader({ gfm: true }).lex(source)

// The expressions of the reader are compiled when they are first used: better now than when an answer arrives.
globalThis.requestIdleCallback?.(() => lexer('a *b* `c` [d](e) <f>\n- g\n\n| h |\n|---|\n| i |\n\n> j\n\n```\nk\n```\n'))

/**
 * Shows Markdown of a model as elements of a closed list.
 *
 * Raw HTML stays a text, images are shown by their address, and nothing is loaded.
 */
export function Markdown({ source, hooks }: { source: string; hooks: Hooks }) {
  const before = useRef<Read | null>(null)
  const { tokens, links } = (before.current = read(source, before.current))
  return (
    <div class="markdown">
      {tokens.map((token, at) => (
        <Kept key={at} token={token} links={links} hooks={hooks} />
      ))}
    </div>
  )
}

interface Read {
  source: string
  tokens: Token[]
  /** Addresses that the text defines for its links, as JSON. */
  links: string
}

const NO_LINKS = '{}'

/** Reads a text. One that has grown is read from its last two blocks on: those before them no longer change. */
function read(source: string, before: Read | null): Read {
  if (before?.links === NO_LINKS && source.startsWith(before.source)) {
    let solid = before.tokens.length
    for (let open = 2; solid > 0 && open > 0; ) {
      solid -= 1
      if (before.tokens[solid]?.type !== 'space') open -= 1
    }
    const kept = before.tokens.slice(0, solid)
    const text = kept.map(({ raw }) => raw).join('')
    const rest = source.startsWith(text) ? lexed(source.slice(text.length)) : null
    if (rest?.links === NO_LINKS) return { source, tokens: [...kept, ...rest.tokens], links: NO_LINKS }
  }
  return { source, ...lexed(source) }
}

function lexed(source: string): Omit<Read, 'source'> {
  const tokens = lexer(source)
  return { tokens, links: JSON.stringify(tokens.links) }
}

/** A block that is made again only if it has changed: each piece of a stream makes all tokens anew. */
function Kept({ token, links, hooks }: { token: Token; links: string; hooks: Hooks }) {
  return useMemo(() => <>{block(token, hooks, 0, 0)}</>, [token.raw, links, hooks])
}

const blocks = (tokens: Token[], hooks: Hooks, depth: number): ComponentChild[] => tokens.map((token, at) => block(token, hooks, at, depth))

function block(token: Token, hooks: Hooks, at: number, depth: number): ComponentChild {
  if (depth > DEEPEST)
    return (
      <p key={at}>
        <Foreign text={token.raw} />
      </p>
    )
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      return <h4 key={at}>{inline(token.tokens ?? [], hooks, depth)}</h4>
    case 'paragraph':
      return <p key={at}>{inline(token.tokens ?? [], hooks, depth)}</p>
    case 'code':
      return <CodeText key={at} text={(token as Tokens.Code).text} />
    case 'blockquote':
      return <blockquote key={at}>{blocks(token.tokens ?? [], hooks, depth + 1)}</blockquote>
    case 'hr':
      return <hr key={at} />
    case 'list':
      return list(token as Tokens.List, hooks, at, depth)
    case 'table':
      return table(token as Tokens.Table, hooks, at, depth)
    case 'text':
      return <p key={at}>{inline(token.tokens ?? [token], hooks, depth)}</p>
    default:
      return (
        <p key={at}>
          <Foreign text={token.raw} />
        </p>
      )
  }
}

function list({ items, ordered, start }: Tokens.List, hooks: Hooks, at: number, depth: number): ComponentChild {
  const lines = items.map((item, index) => <li key={index}>{item.loose || item.tokens.length > 1 ? blocks(item.tokens, hooks, depth + 1) : inline(item.tokens, hooks, depth + 1)}</li>)
  return ordered ? (
    <ol key={at} start={Number(start) || 1}>
      {lines}
    </ol>
  ) : (
    <ul key={at}>{lines}</ul>
  )
}

function table({ header, rows }: Tokens.Table, hooks: Hooks, at: number, depth: number): ComponentChild {
  return (
    <div key={at} class="markdown-table" tabIndex={0} role="group" aria-label={text.table}>
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} scope="col">
                {inline(cell.tokens, hooks, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line}>
              {row.map((cell, index) => (
                <td key={index}>{inline(cell.tokens, hooks, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function inline(tokens: Token[], hooks: Hooks, depth: number): ComponentChild[] {
  return tokens.map((token, at) => {
    if (depth > DEEPEST) return <Foreign key={at} text={token.raw} />
    const inner = () => inline((token as Tokens.Generic).tokens ?? [], hooks, depth + 1)
    switch (token.type) {
      case 'strong':
        return <strong key={at}>{inner()}</strong>
      case 'em':
        return <em key={at}>{inner()}</em>
      case 'del':
        return <s key={at}>{inner()}</s>
      case 'br':
        return <br key={at} />
      case 'codespan':
        return (
          <code key={at}>
            <Foreign text={(token as Tokens.Codespan).text} />
          </code>
        )
      case 'link':
        return <Link key={at} address={(token as Tokens.Link).href} words={(token as Tokens.Link).text} onLink={hooks.onLink} />
      case 'image':
        return (
          <span key={at} class="markdown-image mono">
            [{text.image}: <Foreign text={(token as Tokens.Image).href} />]
          </span>
        )
      case 'text':
        return (token as Tokens.Text).tokens ? inner() : <Fragment key={at}>{hooks.words ? hooks.words((token as Tokens.Text).text) : <Foreign text={(token as Tokens.Text).text} />}</Fragment>
      case 'escape':
        return (token as Tokens.Escape).text
      default:
        return <Foreign key={at} text={token.raw} />
    }
  })
}

/** A link shows its host, so that its words cannot hide where it leads. Others than https are texts. */
function Link({ address, words, onLink }: { address: string; words: string; onLink: (address: string) => void }) {
  const url = URL.canParse(address) ? new URL(address) : null
  if (url?.protocol !== 'https:') {
    return (
      <span>
        <Foreign text={words} /> [<Foreign text={address} />]
      </span>
    )
  }
  return (
    <button type="button" class="markdown-link" onClick={() => onLink(url.href)}>
      <Foreign text={words} /> <span class="muted">({url.host})</span>
    </button>
  )
}
