import type { components } from 'openapi'
import { call } from './client'

export type Database = components['schemas']['Database']

/** Databases that the caller may use. */
export function databases(signal?: AbortSignal): Promise<components['schemas']['Databases']> {
  return call('/api/databases', { signal: signal ?? null })
}
