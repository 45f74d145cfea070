import { useEffect, useState } from 'preact/hooks'
import { adminDatabases } from '../api/admin'
import { available } from './session'

/** Names of all configured databases, for administrators; those that the caller may use until they are known. */
export function useDatabaseNames(): readonly string[] {
  const [names, setNames] = useState<readonly string[] | null>(null)
  useEffect(() => {
    const stop = new AbortController()
    adminDatabases(stop.signal).then(
      ({ databases }) => setNames(databases.map(({ name }) => name)),
      () => {},
    )
    return () => stop.abort()
  }, [])
  return names ?? (available.value ?? []).map(({ name }) => name)
}
