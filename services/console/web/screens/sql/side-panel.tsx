import { useSignal } from '@preact/signals'
import type { LibraryItem } from '../../api/library'
import { Tabs } from '../../parts/tabs'
import { library } from '../../text/library'
import { sql as texts } from '../../text/sql'
import { ItemList } from '../library/item-list'
import { HistoryList } from './history-list'
import { TableList } from './table-list'
import type { Work } from './work'

interface Props {
  readonly work: Work
  /** Opens a text in the editor. */
  readonly onText: (text: string) => void
  /** Opens a saved query. */
  readonly onOpen: (item: LibraryItem) => void
  /** Puts a name where the cursor is. */
  readonly onInsert: (name: string) => void
}

/** Tables of the database and statements that ran, beside the editor. */
export function SidePanel({ work, onText, onOpen, onInsert }: Props) {
  const tab = useSignal('tables')
  const tabs = [
    { name: 'tables', title: texts.tables },
    { name: 'saved', title: library.saved },
    { name: 'history', title: texts.history },
  ]
  return (
    <Tabs label={texts.side} tabs={tabs} current={tab.value} onChoose={(name) => (tab.value = name)}>
      {tab.value === 'tables' ? (
        <TableList onText={onText} onInsert={onInsert} />
      ) : tab.value === 'saved' ? (
        <ItemList kind="query" onOpen={onOpen} onChanged={(id, item) => work.follow(id, item)} />
      ) : (
        <HistoryList work={work} onText={onText} />
      )}
    </Tabs>
  )
}
