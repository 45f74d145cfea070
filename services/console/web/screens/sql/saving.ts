import type { LibraryItem } from '../../api/library'
import { toast } from '../../parts/toast'
import { keepsLibrary, mayChange } from '../../shell/library'
import { database } from '../../shell/router'
import { isIn, session } from '../../shell/session'
import { library as texts } from '../../text/library'
import { askToAdd, changeItem } from '../library/changes'
import type { Sheet } from './sheet'
import type { Work } from './work'

/** Tabs that are being saved: a second Ctrl S does not save twice. */
const busy = new WeakSet<Sheet>()

/** Saves the text of a tab: as a new query, or into the query that it was opened from. */
export async function save(work: Work, sheet: Sheet): Promise<void> {
  const caller = session.peek()
  if (!isIn(caller)) return
  if (!keepsLibrary(caller)) return toast(caller.kind === 'token' || caller.kind === 'client' ? texts.usersOnly : texts.notKept, 'danger')
  if (busy.has(sheet) || sheet.text.peek().trim() === '') return
  busy.add(sheet)
  try {
    await saveText(work, sheet)
  } catch (problem) {
    toast((problem as Error).message, 'danger')
  } finally {
    busy.delete(sheet)
  }
}

async function saveText(work: Work, sheet: Sheet): Promise<void> {
  const saved = sheet.saved.peek()
  if (!saved) return saveAsNew(work, sheet, null)
  if (!mayChange(saved)) return saveAsNew(work, sheet, texts.notYours(saved.owner))
  const { item, written } = await changeItem(saved, { text: sheet.text.peek() })
  if (!item) return saveAsNew(work, sheet, texts.isGone)
  work.follow(saved.id, item)
  toast(written ? texts.done(item.title) : texts.kept)
}

/** Saves the text of a tab as a new query. */
export async function saveAsNew(work: Work, sheet: Sheet, note: string | null): Promise<void> {
  const item = await askToAdd({ kind: 'query', title: sheet.title.peek(), text: sheet.text.peek(), database: database.peek() || null, tags: [], shared: false }, note)
  if (!item) return
  sheet.saved.value = item
  work.changed(sheet)
  toast(texts.done(item.title))
}

/** Opens a saved query, in its database if it has one that the person may use. */
export function openItem(work: Work, item: LibraryItem, databases: readonly string[], use: (name: string) => void): void {
  work.openSaved(item)
  if (item.database && item.database !== database.peek() && databases.includes(item.database)) use(item.database)
}
