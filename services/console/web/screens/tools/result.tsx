import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { McpResponse } from '../../api/mcp'
import { Banner } from '../../parts/banner'
import { CodeText } from '../../parts/code-text'
import { Foreign } from '../../parts/foreign'
import { Tabs } from '../../parts/tabs'
import { tools as text } from '../../text/tools'
import { type Rows, rowsOfStructure, rowsOfText, tokensIn } from '../../parts/rows'

const SHOWN_ROWS = 200

interface Block {
  type?: string
  text?: string
  mimeType?: string
  uri?: string
}

/** The answer to a call: as a table, as the text that a model reads, and as it was sent. */
export function Result({ response }: { response: McpResponse }) {
  const { message } = response
  const result = message?.result
  const words = useMemo(() => textOf(result), [response])
  const rows = useMemo(() => tableOf(result, words), [response])
  const [chosen, setChosen] = useState('')
  if (message?.error) {
    return (
      <Banner kind="danger" title={text.protocolError(message.error.code)}>
        <Foreign text={message.error.message} />
      </Banner>
    )
  }
  if (!result) {
    return (
      <Banner kind="danger" title={`${response.status} ${response.statusText}`.trim()}>
        <Foreign text={response.text.slice(0, 500) || text.unreadable} />
      </Banner>
    )
  }
  const view = chosen || (rows && !result.isError ? 'table' : 'text')
  return (
    <div class="tool-result">
      {result.isError === true && <Banner kind="danger" title={text.failedCall} />}
      <Tabs
        label={text.result}
        tabs={[
          { name: 'table', title: text.table },
          { name: 'text', title: text.textFor(tokensIn(words)) },
          { name: 'json', title: text.json },
        ]}
        current={view}
        onChoose={setChosen}
      >
        {view === 'table' && (rows ? <Table rows={rows} /> : <p class="muted tool-note">{text.noTable}</p>)}
        {view === 'text' && <CodeText text={words} label={text.text} />}
        {view === 'json' && <CodeText text={JSON.stringify(result, null, 2)} language="json" label={text.json} />}
      </Tabs>
    </div>
  )
}

/** Joins the texts of a result of a tool, a resource or a prompt. */
export function textOf(result: Record<string, unknown> | undefined): string {
  if (!result) return ''
  const blocks: Block[] = [
    ...((result.content as Block[] | undefined) ?? []),
    ...((result.contents as Block[] | undefined) ?? []),
    ...((result.messages as { role: string; content: Block }[] | undefined) ?? []).map(({ role, content }) => ({ ...content, text: `${role}:\n${content.text ?? ''}` })),
  ]
  return blocks.map((block) => block.text ?? `[${block.type ?? block.mimeType ?? 'data'}] ${block.uri ?? ''}`.trim()).join('\n\n')
}

function tableOf(result: Record<string, unknown> | undefined, words: string): Rows | null {
  const structured = rowsOfStructure(result?.structuredContent)
  if (structured) return structured
  try {
    return rowsOfStructure(JSON.parse(words))
  } catch {
    return rowsOfText(words)
  }
}

const Scroll = ({ children }: { children: ComponentChildren }) => (
  <div class="tool-table" tabIndex={0} role="region" aria-label={text.table}>
    {children}
  </div>
)

function Table({ rows: { columns, rows } }: { rows: Rows }) {
  const numeric = columns.map((_, at) => rows.length > 0 && rows.every((row) => /^(-?\d+(\.\d+)?|NULL|)$/.test(row[at] ?? '')))
  return (
    <>
      <Scroll>
        <table>
          <thead>
            <tr>
              {columns.map((name, at) => (
                <th key={at} scope="col" class={numeric[at] ? 'number' : ''}>
                  <Foreign text={name} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN_ROWS).map((row, index) => (
              <tr key={index}>
                {row.map((cell, at) => (
                  <td key={at} class={numeric[at] ? 'number' : ''}>
                    {cell === 'NULL' ? <span class="muted">NULL</span> : <Foreign text={cell} />}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="muted tool-note">{text.tableRows(Math.min(rows.length, SHOWN_ROWS), rows.length)}</p>
    </>
  )
}
