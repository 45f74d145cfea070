/** Reads values that hold another text: bytes, Base64, percent-coding, JSON. */

export interface Decoded {
  readonly form: string
  readonly text: string
}

/** Shortest text that is tried as Base64; shorter ones are words by chance. */
const MIN_BASE64 = 16

/** Returns the text inside of a value, or null if it is what it seems. */
export function decoded(text: string): Decoded | null {
  return fromBytes(text) ?? fromToken(text) ?? fromBase64(text) ?? fromPercent(text)
}

/** `bytea` as PostgreSQL prints it. */
function fromBytes(text: string): Decoded | null {
  if (!/^\\x(?:[0-9a-f]{2})+$/.test(text)) return null
  const bytes = Uint8Array.from(text.slice(2).match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  const utf8 = readUtf8(bytes)
  return utf8 === null ? { form: 'bytes', text: dump(bytes) } : { form: 'UTF-8 bytes', text: utf8 }
}

/** Header and claims of a JSON web token; its signature is not checked. */
function fromToken(text: string): Decoded | null {
  const [header, claims, signature, ...rest] = text.split('.')
  if (!header?.startsWith('eyJ') || !claims || signature === undefined || rest.length > 0) return null
  const parts = [header, claims].map((part) => readBase64(part.replaceAll('-', '+').replaceAll('_', '/')))
  if (parts.some((part) => part === null)) return null
  return {
    form: 'a JSON web token, signature not checked',
    text: parts.map((part) => pretty(part ?? '')).join('\n'),
  }
}

function fromBase64(text: string): Decoded | null {
  if (text.length < MIN_BASE64 || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null
  const read = readBase64(text)
  return read === null ? null : { form: 'Base64', text: read }
}

function fromPercent(text: string): Decoded | null {
  if (!/%[0-9A-Fa-f]{2}/.test(text)) return null
  try {
    return { form: 'percent-coding', text: decodeURIComponent(text) }
  } catch {
    return null
  }
}

function readBase64(text: string): string | null {
  try {
    return readUtf8(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)))
  } catch {
    return null
  }
}

/** Returns a text that can be read, without control characters but lines and tabs. */
function readUtf8(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return /[\u0000-\u0008\u000e-\u001f\u007f]/.test(text) ? null : text
  } catch {
    return null
  }
}

const DUMPED_BYTES = 4096

function dump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let start = 0; start < Math.min(bytes.length, DUMPED_BYTES); start += 16) {
    const line = bytes.subarray(start, start + 16)
    const hex = Array.from(line, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = Array.from(line, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·')).join(
      '',
    )
    lines.push(`${start.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${text}`)
  }
  if (bytes.length > DUMPED_BYTES) lines.push('…')
  return lines.join('\n')
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
