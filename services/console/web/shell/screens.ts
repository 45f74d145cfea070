import type { ComponentType } from 'preact'
import type { Session } from '../api/session'
import type { IconName } from '../parts/icon'
import { shell } from '../text/shell'
import { titles } from '../text/titles'

/** A screen of the menu. Its module is a chunk of its own, loaded when the screen is opened. */
export interface Screen {
  /** First part of the path below `/console/`, name of its folder, its chunk and its style sheet. */
  name: string
  title: string
  icon: IconName
  /** Tells if the caller may see it. Absent: all callers may. */
  allowed?: (session: Session) => boolean
  load: () => Promise<{ default: ComponentType }>
}

/** All screens, in the order of the menu. One that is not built is not listed. */
export const SCREENS: readonly Screen[] = [
  { name: 'ask', title: titles.ask, icon: 'ask', load: () => import('../screens/ask/ask') },
  { name: 'sql', title: titles.sql, icon: 'sql', load: () => import('../screens/sql/sql') },
  { name: 'schema', title: titles.schema, icon: 'schema', load: () => import('../screens/schema/schema') },
  { name: 'search', title: titles.search, icon: 'search', load: () => import('../screens/search/search') },
  { name: 'tools', title: titles.tools, icon: 'tools', load: () => import('../screens/tools/tools') },
  { name: 'activity', title: titles.activity, icon: 'activity', load: () => import('../screens/activity/activity') },
  { name: 'admin', title: titles.admin, icon: 'admin', allowed: ({ admin }) => admin, load: () => import('../screens/admin/admin') },
]

/** Returns the screens that a caller may see. */
export function screensFor(session: Session): Screen[] {
  return SCREENS.filter((screen) => screen.allowed?.(session) ?? true)
}

/** Titles of the screens, for callers that link to one. */
export const titleOf = (name: string): string => SCREENS.find((screen) => screen.name === name)?.title ?? shell.product
