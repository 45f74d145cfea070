/** Colours of the theme for drawings, which cannot use the properties of style sheets. */

let probe: HTMLElement | null = null

/** Returns the colour that a custom property has now. */
export function resolved(property: string, opacity = 1): string {
  probe ??= document.createElement('span')
  probe.hidden = true
  const percent = Math.round(opacity * 100)
  probe.style.color =
    opacity < 1 ? `color-mix(in srgb, var(${property}) ${percent}%, transparent)` : `var(${property})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** Calls back when the page is painted in another theme, until the returned function is called. */
export function onThemeChange(follow: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const chosen = new MutationObserver(follow)
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  system.addEventListener('change', follow)
  return () => {
    chosen.disconnect()
    system.removeEventListener('change', follow)
  }
}
