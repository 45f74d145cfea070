/** Names of databases in the browser begin with this, so that signing out finds all of them. */
export const DRAFTS = 'ziggurat-console-'

/** Deletes drafts and history of the person from this browser. */
export async function forgetDrafts(): Promise<void> {
  if (!('indexedDB' in globalThis) || !indexedDB.databases) return
  const found = await indexedDB.databases().catch(() => [])
  await Promise.all(found.flatMap(({ name }) => (name?.startsWith(DRAFTS) ? [remove(name)] : [])))
}

function remove(name: string): Promise<void> {
  return new Promise((resolve) => {
    const request = indexedDB.deleteDatabase(name)
    request.onsuccess = request.onerror = request.onblocked = () => resolve()
  })
}
