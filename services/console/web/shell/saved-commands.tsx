import { useEffect } from 'preact/hooks'
import { library as texts } from '../text/library'
import { addCommands } from './commands'
import { useItems } from './library'
import { go } from './router'

/** Adds the saved queries to the palette while it is shown. */
export function SavedCommands() {
  const { items } = useItems('query')
  useEffect(
    () =>
      addCommands(() =>
        (items ?? []).map(({ id, title, database, owner }) => ({
          group: texts.saved,
          label: title,
          icon: 'save',
          note: [database, texts.by(owner)].filter(Boolean).join(' · '),
          run: () => go({ screen: 'sql', query: { saved: id } }),
        })),
      ),
    [items],
  )
  return null
}
