import drawings from '../look/drawings.json'

/** Names of the icons in `look/icons.svg`. */
export const ICON_NAMES = [
  'activity',
  'admin',
  'ask',
  'chart',
  'check',
  'clock',
  'close',
  'column',
  'copy',
  'database',
  'document',
  'down',
  'download',
  'edit',
  'error',
  'eye-off',
  'filter',
  'help',
  'home',
  'info',
  'key',
  'left',
  'link',
  'lock',
  'minus',
  'moon',
  'more',
  'pin',
  'plus',
  'prompt',
  'reload',
  'right',
  'run',
  'save',
  'schema',
  'search',
  'sign-out',
  'sort',
  'sql',
  'step',
  'stop',
  'sun',
  'table',
  'theme',
  'tools',
  'trash',
  'up',
  'user',
  'view',
  'warning',
] as const

export type IconName = (typeof ICON_NAMES)[number]

declare const ICONS: string

/** A small drawing beside a text, or in a button that has a name. Hidden from screen readers. */
export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} aria-hidden="true" focusable="false">
      <use href={`${ICONS}#${name}`} />
    </svg>
  )
}

/** The mark of the console: a tower of three tiers with a stair. */
export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path fill="currentColor" fill-rule="evenodd" d={drawings.mark} />
    </svg>
  )
}
