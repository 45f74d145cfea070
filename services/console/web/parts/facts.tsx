import type { ComponentChildren } from 'preact'
import type { IconName } from './icon'
import { Icon } from './icon'

/** A short word with a meaning, such as `read only`. */
export function Badge({ kind = 'plain', icon, children }: { kind?: 'plain' | 'ok' | 'warn' | 'danger' | 'clay'; icon?: IconName; children: ComponentChildren }) {
  return (
    <span class={`badge ${kind}`}>
      {icon && <Icon name={icon} size={14} />}
      {children}
    </span>
  )
}

/** A key of the keyboard, or several that are pressed together. */
export function Keys({ keys }: { keys: readonly string[] }) {
  return (
    <span class="keys">
      {keys.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </span>
  )
}

/** Names and values in two columns. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A place without content: one sentence and the next action. */
export function Empty({ icon, title, children, actions }: { icon?: IconName; title: string; children?: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <div class="empty">
      {icon && <Icon name={icon} size={24} />}
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
      {actions && <div class="empty-actions">{actions}</div>}
    </div>
  )
}
