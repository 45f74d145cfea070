import { number } from '../../text/format'
import { Foreign } from '../foreign'
import { Icon } from '../icon'
import type { TreeLine } from './tree'

/** Schemas up to this number are open at first. */
const OPEN_SCHEMAS = 3

/** Tells if a schema is open before a person has opened or closed it. */
export const isOpenAtFirst = (schema: string, schemas: number): boolean => schemas <= OPEN_SCHEMAS || schema === 'public'

/** The line of a schema, with the number of its tables. */
export function schemaLine(key: string, name: string, tables: number, open: boolean): TreeLine {
  return {
    key,
    level: 1,
    text: name,
    open,
    content: (
      <>
        <Icon name={open ? 'down' : 'right'} size={16} />
        <strong>
          <Foreign text={name} />
        </strong>
        <span class="tree-note">{number(tables)}</span>
      </>
    ),
  }
}
