import { connection, tryNow } from '../api/connection'
import type { Session } from '../api/session'
import { Banner } from '../parts/banner'
import { Button, IconButton } from '../parts/button'
import { Badge, Keys } from '../parts/facts'
import { Foreign } from '../parts/foreign'
import { Icon, Mark } from '../parts/icon'
import { Menu, type MenuItem } from '../parts/menu'
import { themeItems, ThemeMenu } from '../parts/theme'
import { shell as text } from '../text/shell'
import { keyListOpen } from './key-list'
import { COMMAND_KEY } from './keys'
import { paletteOpen } from './palette'
import { addressOf, database, go, place } from './router'
import type { Screen } from './screens'
import { available, currentDatabase, leave } from './session'

/** The bar at the top: database, what may be done to it, palette, account. */
export function TopBar({ session }: { session: Session }) {
  return (
    <header class="top" data-region>
      <a class="home" href={addressOf(place.value, { screen: '' })} aria-label={text.product} data-tip={text.product} data-tip-at="start">
        <Mark />
      </a>
      <DatabaseMenu />
      <Access />
      <button type="button" class="find" onClick={() => (paletteOpen.value = true)}>
        <Icon name="search" size={16} />
        <span class="find-text">{text.findOrDo}</span>
        <Keys keys={[COMMAND_KEY, 'K']} />
      </button>
      <div class="top-end wide-only">
        <AccountMenu session={session} />
        <ThemeMenu />
        <Menu label={text.help} tip={text.help} align="end" class="only-icon" trigger={<Icon name="help" />} items={helpItems()} />
      </div>
      <div class="top-end narrow-only">
        <IconButton icon="search" name={text.findOrDo} tip="end" onClick={() => (paletteOpen.value = true)} />
        <Menu
          label={text.more}
          align="end"
          class="only-icon"
          trigger={<Icon name="more" />}
          items={[{ heading: nameOf(session) }, ...accountItems(session), { heading: text.theme }, ...themeItems(), { heading: text.help }, ...helpItems()]}
        />
      </div>
    </header>
  )
}

function DatabaseMenu() {
  const list = available.value ?? []
  const name = database.value
  const shown = name || text.chooseDatabase
  return (
    <Menu
      label={`${text.database}: ${shown}`}
      class="database"
      trigger={
        <>
          <span class="database-name">
            <Foreign text={shown} />
          </span>
          <Icon name="down" size={16} />
        </>
      }
      items={
        list.length
          ? list.map((item) => ({
              label: item.name,
              note: item.allow_writes ? text.mayWrite : text.readOnly,
              checked: item.name === name,
              onChoose: () => go({ query: { db: item.name } }),
            }))
          : [{ heading: text.noDatabases }]
      }
    />
  )
}

function Access() {
  const found = currentDatabase()
  if (!found) return null
  return found.allow_writes ? (
    <Badge kind="warn" icon="edit">
      {text.mayWrite}
    </Badge>
  ) : (
    <Badge icon="lock">{text.readOnly}</Badge>
  )
}

const nameOf = (session: Session): string =>
  session.user ?? (session.kind === 'token' || session.kind === 'client' ? text.withToken : text.withoutSignIn)

function accountItems(session: Session): MenuItem[] {
  if (!session.auth) return []
  const programs: MenuItem = { label: text.programs, icon: 'key', href: '/oauth/account' }
  return [...(session.browser_sign_in ? [programs] : []), { label: text.signOut, icon: 'sign-out', onChoose: () => void leave() }]
}

const helpItems = (): MenuItem[] => [
  { label: text.keys, icon: 'info', note: `${COMMAND_KEY} /`, onChoose: () => (keyListOpen.value = true) },
  { label: text.apiReference, icon: 'document', href: '/docs' },
]

function AccountMenu({ session }: { session: Session }) {
  const name = nameOf(session)
  const items = accountItems(session)
  if (!items.length) return <span class="account muted">{name}</span>
  return (
    <Menu
      label={`${text.account}: ${name}`}
      align="end"
      class="account"
      trigger={
        <>
          <Icon name={session.user ? 'user' : 'key'} />
          <span class="account-name">
            <Foreign text={name} />
          </span>
          <Icon name="down" size={16} />
        </>
      }
      items={[{ heading: session.admin ? `${text.signedInAs(name)}, ${text.administrator}` : text.signedInAs(name) }, ...items]}
    />
  )
}

const AT_THE_BOTTOM = 4

/** The menu of screens: with names, as a rail of icons, or at the bottom of a telephone. */
export function ScreenMenu({ screens }: { screens: readonly Screen[] }) {
  const current = place.value.screen
  const rest = screens.length > AT_THE_BOTTOM + 1 ? screens.slice(AT_THE_BOTTOM) : []
  return (
    <nav class="screens" aria-label={text.screens} data-region>
      <ul>
        {screens.map((screen, at) => (
          <li key={screen.name} class={rest.length && at >= AT_THE_BOTTOM ? 'not-narrow' : ''}>
            <a
              href={addressOf(place.value, { screen: screen.name })}
              class="screen-link"
              {...(screen.name === current && { 'aria-current': 'page' })}
              data-tip={screen.title}
              data-tip-at="right"
            >
              <Icon name={screen.icon} />
              <span class="screen-title">{screen.title}</span>
            </a>
          </li>
        ))}
      </ul>
      {rest.length > 0 && (
        <div class="narrow-only">
          <Menu
            label={text.more}
            align="end"
            class="screen-link"
            trigger={
              <>
                <Icon name="more" />
                <span class="screen-title">{text.more}</span>
              </>
            }
            items={rest.map((screen) => ({ label: screen.title, icon: screen.icon, onChoose: () => go({ screen: screen.name }) }))}
          />
        </div>
      )}
    </nav>
  )
}

/** Messages about the whole console, above the screen. */
export function FrameBanners({ session }: { session: Session }) {
  const known = available.value
  const unknown = known !== null && known.length > 0 && database.value !== '' && !currentDatabase()
  return (
    <div class="frame-banners">
      {!session.auth && <Banner kind="warn">{text.openBanner}</Banner>}
      {connection.value.since !== null && (
        <Banner kind="danger" title={text.goneTitle} actions={<Button onClick={tryNow}>{text.tryAgain}</Button>}>
          {text.gone}
        </Banner>
      )}
      {unknown && (
        <Banner kind="warn" title={text.unknownDatabase}>
          <Foreign text={text.unknownDatabaseText(database.value)} />
        </Banner>
      )}
    </div>
  )
}
