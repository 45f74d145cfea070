// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, expect, test } from 'vitest'
import type { Preview } from '../../api/preview'
import { ChangedRows } from './changed-rows'

afterEach(() => act(() => render(null, document.body)))

const preview: Preview = {
  rows: 3,
  tables: [
    {
      table: 'public.orders',
      inserted: 1,
      updated: 1,
      deleted: 1,
      key: ['id'],
      masked: [],
      changes: [
        { op: 'delete', key: ['7'], before: { id: '7', note: 'to\u202eod' } },
        { op: 'update', key: ['12'], before: { ord: '7' }, after: { ord: null } },
        { op: 'insert', key: ['13'], after: { id: '13', note: '' } },
      ],
      more: 2,
    },
  ],
  notes: ['Numbers of public.orders_id_seq stay drawn.'],
  digest: 'k3f9a2c07b1e',
}

const rowsOf = (side: string) => {
  const grid = [...document.querySelectorAll('.changed-side')].find((it) => it.getAttribute('aria-label')?.endsWith(side))
  return [...(grid?.querySelectorAll('tbody tr') ?? [])].map((row) => [...row.querySelectorAll('td')].map(({ textContent }) => textContent?.trim()))
}

test('changes stand side by side with their signs, and a row that is not there is an empty line', () => {
  act(() => render(<ChangedRows preview={preview} />, document.body))
  expect(rowsOf('Before')).toEqual([['-', '7', 'toU+202Eod', '·'], ['~', '12', '·', '7'], ['']])
  expect(rowsOf('After')).toEqual([[''], ['~', '12', '·', 'NULL'], ['+', '13', '', '·']])
})

test('each change is a sentence, and totals, notes and rows that are left out are told', () => {
  act(() => render(<ChangedRows preview={preview} />, document.body))
  const sentences = [...document.querySelectorAll('ul.spoken li')].map(({ textContent }) => textContent)
  expect(sentences).toEqual([
    'Row id “7” is removed: note “toU+202Eod”.',
    'Row id “12” is changed: ord from “7” to NULL.',
    'Row id “13” is added: note “”.',
  ])
  const text = document.body.textContent
  for (const part of ['1 added, 1 changed, 1 removed', '… 2 more rows', 'Numbers of public.orders_id_seq stay drawn.', 'k3f9a2c07b1e']) expect(text).toContain(part)
})
