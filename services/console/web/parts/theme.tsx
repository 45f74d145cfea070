import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { chooseTheme, onThemeOfOtherTab, storedTheme, type Theme, THEMES } from '../look/themes'
import { shell as text } from '../text/shell'
import { Icon, type IconName } from './icon'
import { Menu, type MenuItem } from './menu'

const theme = signal<Theme>(storedTheme())

const ICONS: Record<Theme, IconName> = { system: 'theme', light: 'sun', dark: 'moon' }

/** Chooses a theme for this browser. */
export function setTheme(chosen: Theme): void {
  chooseTheme(chosen)
  theme.value = chosen
}

/** The themes as lines of a menu. */
export const themeItems = (): MenuItem[] => THEMES.map((name) => ({ label: text.themes[name], checked: theme.value === name, onChoose: () => setTheme(name) }))

/** A button that chooses the theme. It follows other tabs. */
export function ThemeMenu() {
  useEffect(() => onThemeOfOtherTab((chosen) => (theme.value = chosen)), [])
  return <Menu label={text.theme} tip={text.theme} align="end" class="only-icon" trigger={<Icon name={ICONS[theme.value]} />} items={themeItems()} />
}
