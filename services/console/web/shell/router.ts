import { computed, signal } from '@preact/signals'

/** Path below which all screens are. */
export const BASE = '/console/'

/** The address of the tab, taken apart. */
export interface Place {
  /** First part of the path, such as `sql`; empty at the start. */
  screen: string
  /** The path behind the screen, such as the id of a conversation. */
  item: string
  /** Members of the query, such as `db`. */
  query: URLSearchParams
  /** The text behind `#`. Servers and proxies never see it. */
  hash: string
}

/** A change of the address. Members that are absent stay; `null` in `query` removes a member. */
export interface Step {
  screen?: string
  item?: string
  query?: Record<string, string | null>
  hash?: string
}

/** Takes an address apart. */
export function placeOf(url: URL): Place {
  const path = url.pathname.startsWith(BASE) ? url.pathname.slice(BASE.length) : ''
  const [screen = '', ...rest] = path.split('/')
  return { screen, item: rest.map(decode).join('/'), query: url.searchParams, hash: decode(url.hash.slice(1)) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Writes the address that a step leads to. A new screen keeps only the database of the query. */
export function addressOf(from: Place, step: Step): string {
  const screen = step.screen ?? from.screen
  const moves = step.screen !== undefined && step.screen !== from.screen
  const item = step.item ?? (moves ? '' : from.item)
  const query = new URLSearchParams(moves ? {} : from.query)
  const database = from.query.get('db')
  if (database) query.set('db', database)
  for (const [name, value] of Object.entries(step.query ?? {})) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  const hash = step.hash ?? (moves ? '' : from.hash)
  const path = BASE + screen + (item ? `/${item.split('/').map(encodeURIComponent).join('/')}` : '')
  const search = query.toString()
  return path + (search ? `?${search}` : '') + (hash ? `#${encodeURIComponent(hash)}` : '')
}

const here = (): Place => placeOf(new URL(location.href))

/** The address of this tab. Back and forward change it as well. */
export const place = signal<Place>(typeof location === 'undefined' ? placeOf(new URL('http://localhost/')) : here())

/** Name of the database of this tab; empty until one is chosen. */
export const database = computed(() => place.value.query.get('db') ?? '')

/** Goes to another place and adds it to the history of the tab. */
export function go(step: Step): void {
  history.pushState(null, '', addressOf(place.peek(), step))
  place.value = here()
}

/** Changes the address in place: filters and open items that Back need not restore. */
export function replace(step: Step): void {
  history.replaceState(history.state, '', addressOf(place.peek(), step))
  place.value = here()
}

/** Goes to an address of this console in place of the current one. */
export function startAt(address: string): void {
  history.replaceState(null, '', address)
  place.value = here()
}

/** Follows Back and Forward, and links to screens of this console without a reload. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    place.value = here()
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return
    if (!link.pathname.startsWith(BASE) || link.pathname.startsWith(`${BASE}assets/`)) return
    event.preventDefault()
    history.pushState(null, '', link.href)
    place.value = here()
  })
}
