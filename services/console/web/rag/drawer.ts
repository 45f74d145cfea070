import { signal } from '@preact/signals'

/** The drawer that is open on a narrow page. */
export const drawer = signal<'settings' | 'passages' | null>(null)

/** Tells if the page has no room for three columns. The style sheet has the same limit. */
export const isNarrow = (): boolean => matchMedia('(max-width: 1099px)').matches
