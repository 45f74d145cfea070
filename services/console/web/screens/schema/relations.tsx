import type { ComponentType } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Banner, ProblemBanner } from '../../parts/banner'
import { Empty } from '../../parts/facts'
import { Select } from '../../parts/field'
import { Loading } from '../../parts/loading'
import type { Box, Edge } from '../../parts/diagram/layout'
import { go } from '../../shell/router'
import { relations as texts } from '../../text/schema'
import { around, connected, ofSchema, type Graph } from './graph'
import type { Named } from './ranking'
import { RelationList } from './table-parts'

/** Tables of one diagram; above that it starts from one table. */
export const MAX_DRAWN = 150
const DEPTHS = [1, 2, 3]
const FIRST_DEPTH = 2
/** Columns of a box. */
const MAX_LINES = 8

interface DiagramProps {
  readonly boxes: readonly Box[]
  readonly edges: readonly Edge[]
  readonly current: string | null
  readonly label: string
  readonly onChoose: (key: string) => void
}

interface Props {
  readonly graph: Graph
  /** The table in the middle; null for a whole schema. */
  readonly current: string | null
  readonly schema: string | null
}

/** All schemas, as a choice. No schema has an empty name. */
const ALL = ''

/** The foreign keys around a table, of a schema or of all, as a diagram and as a list. */
export function Relations({ graph, current, schema }: Props) {
  const [depth, setDepth] = useState(FIRST_DEPTH)
  const schemas = useMemo(
    () => [...new Set([...graph.tables.values()].map((named) => named.schema))],
    [graph],
  )
  const [chosen, setChosen] = useState<string | null>(null)
  const shown = chosen ?? schema ?? (connected(graph).size <= MAX_DRAWN ? ALL : schemas.includes('public') ? 'public' : (schemas[0] ?? ALL))
  const { graph: part, cut } = useMemo(
    () =>
      current === null
        ? { graph: ofSchema(graph, shown === ALL ? null : shown), cut: false }
        : around(graph, current, depth, MAX_DRAWN),
    [graph, current, depth, shown],
  )
  const drawn = connected(part).size
  const isTooLarge = drawn > MAX_DRAWN
  return (
    <div class="relations">
      <div class="relations-bar">
        {current !== null && (
          <Select
            label={texts.depth}
            quiet
            value={String(depth)}
            choices={DEPTHS.map((value) => ({ value: String(value), label: texts.depthOf(value) }))}
            onChoose={(value) => setDepth(Number(value))}
          />
        )}
        {current === null && schemas.length > 1 && (
          <Select
            label={texts.schema}
            quiet
            value={shown}
            choices={[{ value: ALL, label: texts.allSchemas }, ...schemas.map((name) => ({ value: name, label: name }))]}
            onChoose={setChosen}
          />
        )}
      </div>
      {cut && <Banner kind="warn">{texts.cut(MAX_DRAWN)}</Banner>}
      {isTooLarge ? (
        <Banner kind="info">{texts.tooMany(drawn, MAX_DRAWN)}</Banner>
      ) : (
        <Drawn graph={part} current={current} schema={current === null && shown !== ALL ? shown : null} />
      )}
      {current === null && drawn > 0 && part.tables.size > drawn && <p class="muted">{texts.unconnected(part.tables.size - drawn)}</p>}
      {part.relations.length > 0 && (
        <details class="relations-list" open={isTooLarge || matchMedia('(max-width: 599px)').matches}>
          <summary>{texts.listOf(part.relations.length)}</summary>
          <RelationList relations={part.relations.slice(0, 500)} graph={part} />
        </details>
      )}
    </div>
  )
}

/** The diagram; tables of other schemas than `schema` are grey. */
function Drawn({ graph, current, schema }: { readonly graph: Graph; readonly current: string | null; readonly schema: string | null }) {
  const [loaded, setLoaded] = useState<{ Diagram: ComponentType<DiagramProps> } | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  useEffect(() => {
    import('../../parts/diagram/diagram').then(({ default: Diagram }) => setLoaded({ Diagram }), setProblem)
  }, [])
  const boxes = useMemo(() => boxesOf(graph, schema), [graph, schema])
  const edges = useMemo(
    () => graph.relations.map(({ from, to, column }) => ({ from, to, label: column })),
    [graph],
  )
  if (problem) return <ProblemBanner problem={problem} />
  if (graph.relations.length === 0)
    return <Empty icon="link" title={current === null ? texts.none : texts.alone} />
  if (!loaded) return <Loading lines={8} />
  const open = (key: string): void => {
    const found = graph.tables.get(key)
    if (found) go({ query: { schema: found.schema, table: found.table.name } })
  }
  return (
    <loaded.Diagram
      boxes={boxes}
      edges={edges}
      current={current}
      label={texts.diagram(boxes.length, edges.length)}
      onChoose={open}
    />
  )
}

/** Boxes with the columns of keys. Tables without relations are left to the list on the left. */
function boxesOf(graph: Graph, schema: string | null): Box[] {
  const used = connected(graph)
  const boxes = [...graph.tables].filter(([key]) => used.has(key))
  return boxes.map(([key, named]) => ({ key, ...boxOf(named), faint: schema !== null && named.schema !== schema }))
}

function boxOf({ schema, table }: Named): Omit<Box, 'key'> {
  const keys = table.columns.filter(({ key, references }) => key === 'primary' || references)
  const shown = keys.slice(0, MAX_LINES).map(({ name }) => name)
  const more = keys.length - shown.length
  return {
    title: schema === 'public' ? table.name : `${schema}.${table.name}`,
    lines: more > 0 ? [...shown, texts.moreColumns(more)] : shown,
  }
}
