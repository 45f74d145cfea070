import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon'

type Native = Omit<ButtonHTMLAttributes, 'icon' | 'name' | 'autofocus'>

export interface ButtonProps extends Native {
  /** `main` is for the one main action of a place, `danger` for what cannot be undone. */
  kind?: 'main' | 'plain' | 'quiet' | 'danger'
  icon?: IconName
  /** Has the focus when the dialog around it opens. Browsers complain about the attribute of that name. */
  autofocus?: boolean
  children: ComponentChildren
}

/** A button with a text. */
export function Button({ kind = 'plain', icon, children, autofocus, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} {...(autofocus && { 'data-autofocus': '' })} class={`button ${kind} ${rest.class ?? ''}`}>
      {icon && <Icon name={icon} size={16} />}
      <span>{children}</span>
    </button>
  )
}

export interface IconButtonProps extends Native {
  icon: IconName
  /** Name for screen readers, shown as the tooltip. */
  name: string
  /** Side at which the tooltip has room. */
  tip?: 'below' | 'start' | 'end' | 'right' | 'above'
}

/** A button that shows only an icon. */
export function IconButton({ icon, name, tip = 'below', ...rest }: IconButtonProps) {
  return (
    <button type="button" {...rest} class={`button quiet only-icon ${rest.class ?? ''}`} aria-label={name} data-tip={name} data-tip-at={tip}>
      <Icon name={icon} />
    </button>
  )
}
