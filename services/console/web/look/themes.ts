/** Themes that a person can choose; `system` follows the operating system. */
export type Theme = 'system' | 'light' | 'dark'

export const THEMES: readonly Theme[] = ['system', 'light', 'dark']

const KEY = 'ziggurat-console-theme'

/** Returns the theme that this browser keeps. */
export function storedTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY)
    return THEMES.find((theme) => theme === kept) ?? 'system'
  } catch {
    return 'system'
  }
}

/** Paints the document in a theme. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** Keeps a theme in this browser and paints the document in it. Other tabs follow. */
export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // A browser that keeps nothing shows the theme until the page is closed.
  }
  applyTheme(theme)
}

/** Calls back when another tab has chosen a theme. */
export function onThemeOfOtherTab(follow: (theme: Theme) => void): void {
  addEventListener('storage', (event) => {
    if (event.key !== KEY) return
    const theme = storedTheme()
    applyTheme(theme)
    follow(theme)
  })
}
