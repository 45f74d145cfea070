import { useSignal } from '@preact/signals'
import type { Catalogue, SchemaTable } from '../../api/schema'
import { TextField } from '../../parts/field'
import { Foreign } from '../../parts/foreign'
import { Icon } from '../../parts/icon'
import { isOpenAtFirst, schemaLine } from '../../parts/tree/schema-line'
import { Tree, type TreeLine } from '../../parts/tree/tree'
import { schema as texts } from '../../text/schema'
import { keyOf } from './graph'
import { allTables, ranked, type Named } from './ranking'

interface Props {
  readonly catalogue: Catalogue
  readonly current: Named | null
  readonly onOpen: (table: Named) => void
}

/** The tables by schema, or those that a filter finds, best first. */
export function TableTree({ catalogue, current, onOpen }: Props) {
  const words = useSignal('')
  const toggled = useSignal<ReadonlyMap<string, boolean>>(new Map())
  const named = allTables(catalogue)
  const byKey = new Map(named.map((table) => [keyOf(table.schema, table.table.name), table]))
  const isOpen = (schema: string): boolean =>
    toggled.value.get(schema) ?? (isOpenAtFirst(schema, catalogue.schemas.length) || schema === current?.schema)
  const lines = words.value.trim() === '' ? treeLines(catalogue, isOpen) : foundLines(named, words.value)
  return (
    <>
      <TextField
        label={texts.filterLabel}
        quiet
        type="search"
        placeholder={texts.filter}
        value={words.value}
        onText={(text) => (words.value = text)}
      />
      {lines.length === 0 ? (
        <p class="muted schema-none" role="status">
          {texts.none}
        </p>
      ) : (
        <div class="schema-tree">
          <Tree
            label={texts.tree}
            lines={lines}
            selected={current ? keyOf(current.schema, current.table.name) : null}
            onChoose={(key) => {
              const found = byKey.get(key)
              if (found) onOpen(found)
            }}
            onToggle={(key, open) => (toggled.value = new Map(toggled.value).set(key, open))}
          />
        </div>
      )}
    </>
  )
}

function treeLines(catalogue: Catalogue, isOpen: (schema: string) => boolean): TreeLine[] {
  const schemas = catalogue.schemas.flatMap(({ name, tables }): TreeLine[] => {
    const open = isOpen(name)
    return [schemaLine(name, name, tables.length, open), ...(open ? tables.map((table) => tableLine(name, table, 2, noteOf(table))) : [])]
  })
  const denied = catalogue.denied.map(
    (name): TreeLine => ({
      key: `denied:${name}`,
      level: 1,
      text: name,
      disabled: true,
      content: (
        <>
          <Icon name="lock" size={16} />
          <Foreign text={name} />
          <span class="tree-note" title={texts.deniedHint}>
            {texts.denied}
          </span>
        </>
      ),
    }),
  )
  return [...schemas, ...denied]
}

function foundLines(named: readonly Named[], words: string): TreeLine[] {
  return ranked(named, words).map(({ schema, table, by }) => tableLine(schema, table, 1, by ?? schema))
}

function tableLine(schema: string, table: SchemaTable, level: number, note: string): TreeLine {
  return {
    key: keyOf(schema, table.name),
    level,
    text: table.name,
    content: (
      <>
        <Icon name={table.kind.includes('view') ? 'view' : 'table'} size={16} />
        <Foreign text={table.name} />
        <span class="tree-note">
          <Foreign text={note} />
        </span>
      </>
    ),
  }
}

function noteOf(table: SchemaTable): string {
  if (table.columns.some(({ dimensions }) => dimensions !== null)) return 'vector'
  return table.kind === 'table' ? '' : table.kind.replace('materialized', 'mat.')
}
