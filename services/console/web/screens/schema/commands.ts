import { useEffect } from 'preact/hooks'
import { catalogueOf } from '../../api/schema'
import { addCommands } from '../../shell/commands'
import { database, go } from '../../shell/router'
import { schema as texts } from '../../text/schema'
import { allTables } from './ranking'

/** Tables of a palette; its words find the others. */
const MOST = 200

/** Adds the tables of the database to the palette while a screen is shown. */
export function useTableCommands(): void {
  useEffect(
    () =>
      addCommands((words) => {
        const { catalogue } = catalogueOf(database.peek()).peek()
        if (!catalogue) return []
        const wanted = words.split(/\s+/)
        return allTables(catalogue)
          .filter(({ schema, table }) =>
            wanted.every((word) => `${schema}.${table.name}`.toLowerCase().includes(word)),
          )
          .slice(0, MOST)
          .map(({ schema, table }) => ({
            group: texts.tree,
            label: schema === 'public' ? table.name : `${schema}.${table.name}`,
            icon: table.kind.includes('view') ? ('view' as const) : ('table' as const),
            note: table.kind,
            run: () => go({ screen: 'schema', query: { schema, table: table.name } }),
          }))
      }),
    [],
  )
}
