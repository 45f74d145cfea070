import { Badge } from '../../parts/facts'
import { hasHidden } from '../../parts/foreign'
import { activity as text } from '../../text/activity'

const KINDS: Record<string, 'ok' | 'warn' | 'danger' | 'plain'> = {
  ok: 'ok',
  asked: 'plain',
  cancelled: 'warn',
  timeout: 'warn',
  limited: 'warn',
  refused: 'warn',
  denied: 'warn',
  unknown: 'warn',
  error: 'danger',
  failed: 'danger',
  lost: 'danger',
}

/** The end of a call as a word, with its code if it has one. */
export function Outcome({ outcome, code }: { outcome: string; code?: string | number | null }) {
  const word = text.outcomes[outcome] ?? outcome
  const shown = code === undefined || code === null || code === '' ? word : text.withCode(word, String(code))
  return <Badge kind={KINDS[outcome] ?? 'plain'}>{hasHidden(shown) ? word : shown}</Badge>
}
