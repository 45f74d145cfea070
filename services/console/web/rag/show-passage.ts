import { drawer, isNarrow } from './drawer'
import { type Shown, shown } from './dialogue'

/** Id of the element of a passage. */
export const passageId = (turn: number, passage: number): string => `passage-${turn}-${passage + 1}`

/** Shows a passage beside the answer, or in a drawer where there is no room, with its words marked. */
export function showPassage(what: Shown): void {
  shown.value = { ...what }
  if (isNarrow()) drawer.value = 'passages'
}
