/** Tells if the keys of a command are pressed: Ctrl, or ⌘ on a Mac, with a key. */
export const isCommand = (event: KeyboardEvent, key: string): boolean =>
  (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === key

/** Name of the key that starts commands on this computer. */
export const COMMAND_KEY = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? '') ? '⌘' : 'Ctrl'

/** Moves the focus to the next region of the page, or back with Shift. */
export function nextRegion(back: boolean): void {
  const regions = [...document.querySelectorAll<HTMLElement>('[data-region]')].filter((region) => region.checkVisibility())
  const at = regions.findLastIndex((region) => region.contains(document.activeElement))
  const to = regions[(at + (back ? -1 : 1) + regions.length) % regions.length]
  if (!to) return
  const inside = to.querySelector<HTMLElement>('[tabindex="0"], a[href], button:not([tabindex="-1"]), input, select, textarea')
  if (to.tabIndex >= 0 || !inside) {
    if (!to.hasAttribute('tabindex')) to.tabIndex = -1
    to.focus()
  } else inside.focus()
}
