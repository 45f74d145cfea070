import type { ComponentChildren } from 'preact'
import { Problem } from '../api/problem'
import { shell } from '../text/shell'
import { Button } from './button'
import { Icon, type IconName } from './icon'

export type BannerKind = 'info' | 'ok' | 'warn' | 'danger'

const SIGNS: Record<BannerKind, IconName> = { info: 'info', ok: 'check', warn: 'warning', danger: 'error' }

/** A message at the place that it is about. `danger` is announced at once. */
export function Banner({
  kind = 'info',
  title,
  children,
  actions,
}: {
  kind?: BannerKind
  title?: string
  children?: ComponentChildren
  actions?: ComponentChildren
}) {
  return (
    <div class={`banner ${kind}`} {...(kind === 'danger' && { role: 'alert' })}>
      <Icon name={SIGNS[kind]} />
      <div class="banner-text">
        {title && <p class="banner-title">{title}</p>}
        {children && <div>{children}</div>}
      </div>
      {actions && <div class="banner-actions">{actions}</div>}
    </div>
  )
}

/** A failure in the server's words, with the id of the request, and a way to try again if that can help. */
export function ProblemBanner({ problem, title, onRetry }: { problem: unknown; title?: string; onRetry?: () => void }) {
  const text = problem instanceof Error ? problem.message : String(problem)
  const id = problem instanceof Problem ? problem.requestId : null
  const helps = !(problem instanceof Problem) || problem.canRetry
  return (
    <Banner
      kind="danger"
      {...(title && { title })}
      actions={
        onRetry && helps ? (
          <Button icon="reload" onClick={onRetry}>
            {shell.tryAgain}
          </Button>
        ) : undefined
      }
    >
      <p class="foreign">{text}</p>
      {id && <p class="request-id mono">{shell.request(id)}</p>}
    </Banner>
  )
}
