import { drawer, isNarrow } from './drawer'
import { type Shown, shown } from './dialogue'

/** Shows a passage beside the answer, or in a drawer where there is no room, with its words marked. */
export function showPassage(what: Shown): void {
  shown.value = { ...what }
  if (isNarrow()) drawer.value = 'passages'
}
