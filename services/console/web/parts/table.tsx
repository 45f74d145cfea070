import type { ComponentChildren } from 'preact'

/** A column of a table: its title and what stands in it. */
export interface TableColumn<T> {
  title: string
  cell: (row: T) => ComponentChildren
  /** Hides the title, of a column with buttons, from view. */
  quiet?: boolean
  number?: boolean
}

/** Facts in rows. The first column names the row; on a telephone each row becomes a list of its facts. */
export function Table<T>({ label, columns, rows, keyOf, class: extra = '' }: { label: string; columns: readonly TableColumn<T>[]; rows: readonly T[]; keyOf: (row: T) => string; class?: string }) {
  return (
    <table class={`table ${extra}`} aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, quiet, number }) => (
            <th key={title} scope="col" class={number ? 'number' : ''}>
              <span class={quiet ? 'spoken' : ''}>{title}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, cell, number, quiet }, at) =>
              at === 0 ? (
                <th key={title} scope="row">
                  {cell(row)}
                </th>
              ) : (
                <td key={title} class={number ? 'number' : ''} {...(!quiet && { 'data-title': title })}>
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
