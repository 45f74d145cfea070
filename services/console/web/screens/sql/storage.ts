import type { LibraryItem } from '../../api/library'
import { DRAFTS } from '../../shell/drafts'

/** A text that a person works on. */
export interface Draft {
  id: string
  /** The tab of the browser that it belongs to. */
  tab: string
  /** Order among those of its tab. */
  place: number
  text: string
  /** The saved query that the text was opened from. */
  saved?: LibraryItem | null
}

/** A statement that ran. */
export interface Ran {
  at: number
  database: string
  sql: string
  ms: number
  rows: number | null
  outcome: 'done' | 'failed' | 'stopped'
}

/** Statements that are kept; older ones are deleted. */
export const KEPT_STATEMENTS = 1000

const VERSION = 1

/** Drafts and history of a person in this browser. A browser that keeps nothing has neither after a reload. */
export class Storage {
  private readonly database: Promise<IDBDatabase | null>

  constructor(person: string) {
    this.database = open(`${DRAFTS}${person}`).catch(() => null)
  }

  async drafts(): Promise<Draft[]> {
    const found = await this.read<Draft[]>('drafts', (store) => store.getAll())
    return (found ?? []).sort((a, b) => a.place - b.place)
  }

  async keepDraft(draft: Draft): Promise<void> {
    await this.write('drafts', (store) => void store.put(draft))
  }

  async deleteDraft(id: string): Promise<void> {
    await this.write('drafts', (store) => void store.delete(id))
  }

  /** The statements that ran, latest first. */
  async history(): Promise<Ran[]> {
    const found = await this.read<Ran[]>('history', (store) => store.getAll())
    return (found ?? []).reverse()
  }

  /** Adds a statement, and deletes the oldest beyond the limit. */
  async addRan(ran: Ran): Promise<void> {
    await this.write('history', (store) => {
      store.add(ran)
      const count = store.count()
      count.onsuccess = () => {
        let surplus = count.result - KEPT_STATEMENTS
        if (surplus <= 0) return
        const cursor = store.openKeyCursor()
        cursor.onsuccess = () => {
          if (!cursor.result || surplus-- <= 0) return
          store.delete(cursor.result.primaryKey)
          cursor.result.continue()
        }
      }
    })
  }

  async clearHistory(): Promise<void> {
    await this.write('history', (store) => void store.clear())
  }

  private async read<T>(name: string, ask: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | null> {
    const database = await this.database
    if (!database) return null
    return new Promise((resolve) => {
      try {
        const request = ask(database.transaction(name).objectStore(name))
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => resolve(null)
      } catch {
        // The database was deleted by a sign-out in another tab.
        resolve(null)
      }
    })
  }

  private async write(name: string, change: (store: IDBObjectStore) => void): Promise<void> {
    const database = await this.database
    if (!database) return
    await new Promise<void>((resolve) => {
      try {
        const transaction = database.transaction(name, 'readwrite')
        transaction.oncomplete = transaction.onerror = transaction.onabort = () => resolve()
        change(transaction.objectStore(name))
      } catch {
        resolve()
      }
    })
  }
}

function open(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, VERSION)
    request.onupgradeneeded = () => {
      request.result.createObjectStore('drafts', { keyPath: 'id' })
      request.result.createObjectStore('history', { autoIncrement: true })
    }
    request.onsuccess = () => {
      // Signing out deletes the database, which waits for connections to close.
      request.result.onversionchange = () => request.result.close()
      resolve(request.result)
    }
    request.onerror = () => reject(request.error)
  })
}
