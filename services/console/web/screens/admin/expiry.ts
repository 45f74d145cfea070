import type { Token } from '../../api/admin'

const SOON = 14 * 86_400_000 // milliseconds

export type Expiry = 'never' | 'later' | 'soon' | 'expired'

/** Tells how near the end of a token is. */
export function expiryOf({ expires_at, expired }: Pick<Token, 'expires_at' | 'expired'>, now: number): Expiry {
  if (expired) return 'expired'
  if (expires_at === null) return 'never'
  const left = new Date(expires_at).getTime() - now
  return left <= 0 ? 'expired' : left < SOON ? 'soon' : 'later'
}
