// The pages of the browser sign-in.
import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { assertAccessible, signInBase as base, password, visit, withBrowser } from './browser.mjs'
import { THEMES } from './pictures.mjs'

withBrowser()

const WIDTHS = [320, 768, 1280]

// The client is at the address of the server, so that no other is asked.
const redirect = `${base}/callback`

/** Registers a client, and returns the address that it opens. */
async function request(name, more = {}) {
  const { redirect_uri = redirect } = more
  const registered = await fetch(`${base}/oauth/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_name: name, redirect_uris: [redirect_uri] }),
  })
  const { client_id } = await registered.json()
  const challenge = createHash('sha256').update(randomBytes(32)).digest('base64url')
  const query = { response_type: 'code', client_id, redirect_uri, state: 'it', code_challenge: challenge, code_challenge_method: 'S256', ...more }
  return `${base}/oauth/authorize?${new URLSearchParams(query)}`
}

async function logIn(page, name) {
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Returns the parameters with which the browser comes back to the client after these steps. */
async function returned(page, steps) {
  await steps()
  await page.waitForURL((url) => url.pathname === '/callback')
  return Object.fromEntries(new URL(page.url()).searchParams)
}

const heading = (page, name) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

/** Returns the code that an authenticator app shows (RFC 6238), `later` steps from now. */
function totp(key, later = 0) {
  const bits = [...key].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const secret = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)))
  const step = Buffer.alloc(8)
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later))
  const digest = createHmac('sha1', secret).update(step).digest()
  const number = digest.readUInt32BE(digest.at(-1) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

/** Has a device ask for access, and returns the address that it shows. */
async function device() {
  const asked = await fetch(`${base}/oauth/device_authorization`, { method: 'POST', body: new URLSearchParams({ client_id: 'tv' }) })
  return (await asked.json()).verification_uri_complete
}

/** Returns the names of the boxes that are ticked. */
const ticked = (page) => page.locator('[type=checkbox]:checked').evaluateAll((all) => all.map((box) => box.labels[0].textContent.trim()))

/** Returns the colour of the ground of a button. */
const ground = (button) => button.evaluate((it) => getComputedStyle(it).backgroundColor)

const NEW_PASSWORD = 'another password of many words'

async function changePassword(page, present, next) {
  await page.getByLabel('Present password').fill(present)
  await page.getByLabel('New password').fill(next)
  await page.getByRole('button', { name: 'Change the password' }).click()
}

/** Goes through all pages as carol, who sets up a second factor and changes the password. `look` gets each page with its name. */
async function walk(page, look) {
  const see = async (name, title) => {
    await heading(page, title)
    await look(name)
  }
  await page.goto(await request('A program with a name that is long enough to need more than one line', { scope: 'mcp mcp:write' }))
  await see('login', 'Sign in')
  const main = await ground(page.getByRole('button', { name: 'Sign in' }))
  await page.getByLabel('Name').fill('carol')
  await page.getByLabel('Password').fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').filter({ hasText: 'The name or the password is wrong.' }).waitFor()
  await see('login-wrong', 'Sign in')
  await logIn(page, 'carol')
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  await see('consent', 'Allow access?')
  for (const name of ['shop', 'workshop']) await page.getByRole('checkbox', { name, exact: true }).uncheck()
  await page.getByRole('checkbox', { name: 'May change data' }).check()
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByRole('alert').filter({ hasText: 'Choose at least one database.' }).waitFor()
  await see('consent-none', 'Allow access?')
  assert.deepEqual(await ticked(page), ['May change data'])
  await page.getByRole('checkbox', { name: 'workshop' }).check()
  await returned(page, () => page.getByRole('button', { name: 'Allow' }).click())
  await page.goto(`${base}/oauth/account`)
  await see('account', 'Your account')
  assert.notEqual(await ground(page.getByRole('button', { name: /^Withdraw/ })), main, 'Withdraw is not the main action')
  await page.getByRole('button', { name: 'Set up a second factor' }).click()
  await see('factor-set-up', 'Set up a second factor')
  const key = (await page.locator('code').textContent()).replaceAll(' ', '')
  await page.getByLabel('Code').fill(totp(key))
  await page.getByRole('button', { name: 'Go on' }).click()
  await see('recovery', 'Recovery codes')
  await page.getByRole('button', { name: 'I have kept them' }).click()
  await see('account-factor', 'Your account')
  await page.getByRole('button', { name: 'Use another account' }).click()
  await logIn(page, 'carol')
  await see('factor', 'Second factor')
  assert.equal((await focused(page)).name, 'Code', 'the field for the code has the focus at once')
  // A step is good once, and the next one is within the tolerance.
  await page.getByLabel('Code').fill(totp(key, 1))
  await page.getByRole('button', { name: 'Go on' }).click()
  await see('account-again', 'Your account')
  await changePassword(page, 'wrong', NEW_PASSWORD)
  await page.getByRole('alert').filter({ hasText: 'The present password is wrong.' }).waitFor()
  await see('account-wrong', 'Your account')
  await changePassword(page, password, NEW_PASSWORD)
  await page.getByRole('status').filter({ hasText: 'You have a new password.' }).waitFor()
  await see('account-changed', 'Your account')
  await page.goto(await device())
  await see('device', 'Connect a device')
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  await see('device-consent', 'Allow access?')
  await page.getByRole('button', { name: 'Deny' }).click()
  await see('device-end', 'Done')
  await page.goto(`${base}/oauth/authorize?client_id=dcr_unknown`)
  await page.getByRole('alert').filter({ hasText: 'The program that sent you here is not known.' }).waitFor()
  await see('error', 'Sign-in')
}

test('each page fits into each width and is accessible in both themes', () =>
  visit({ bypassPolicy: true }, (page) =>
    walk(page, async (name) => {
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 })
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `${name} at ${width}`)
        // Only colours differ between the themes.
        for (const colorScheme of width === WIDTHS[0] ? THEMES : ['light']) {
          await page.emulateMedia({ colorScheme })
          await assertAccessible(page, `${name} at ${width} in ${colorScheme}`)
        }
      }
    }),
  ))

/** Returns how the box, a field, the main button and the mark of a page look. */
const looks = (page) =>
  page.evaluate(() => {
    const seen = ['color', 'backgroundColor', 'borderTop', 'borderLeft', 'borderRadius', 'padding', 'width', 'minHeight']
    return ['main', '[type=password]', 'button.main', '.mark', '.sign-in-tiers'].map((name) => {
      const style = getComputedStyle(document.querySelector(name))
      return [name, ...seen.map((property) => style[property])]
    })
  })

test('the sign-in has the look of the console in both themes', () =>
  visit({}, async (page) => {
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme })
      await page.goto(`${base}/console/sign-in`)
      await page.getByLabel('Password').waitFor()
      const expected = await looks(page)
      await page.goto(await request('Look'))
      await heading(page, 'Sign in')
      assert.deepEqual(await looks(page), expected)
    }
  }))

// What has the focus, and whether that can be seen.
const focused = (page) =>
  page.evaluate(() => {
    const { activeElement: it } = document
    const { outlineStyle, outlineWidth } = getComputedStyle(it)
    const name = it.labels?.[0]?.textContent.trim() || it.textContent.trim() || it.tagName
    return { name, isVisible: outlineStyle === 'solid' && Number.parseFloat(outlineWidth) >= 2 }
  })

/** Asserts that the tab key goes over these in this order, and that each shows it. */
async function assertOrder(page, names) {
  for (const name of names) {
    await page.keyboard.press('Tab')
    assert.deepEqual(await focused(page), { name, isVisible: true })
  }
}

test('a person needs only the keyboard, and the policy of the pages refuses nothing', () =>
  visit({}, async (page) => {
    await page.goto(await request('Keyboard'))
    await heading(page, 'Sign in')
    assert.equal((await focused(page)).name, 'Name', 'the field for the name has the focus at once')
    await page.keyboard.type('alice')
    await assertOrder(page, ['Password'])
    await page.keyboard.type(password)
    await assertOrder(page, ['Sign in'])
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    await assertOrder(page, ['shop', 'workshop', 'May change data', 'Allow', 'Deny', 'Use another account'])
    await page.keyboard.press('Shift+Tab')
    const denied = await returned(page, () => page.keyboard.press('Enter'))
    assert.deepEqual({ error: denied.error, state: denied.state, iss: denied.iss }, { error: 'access_denied', state: 'it', iss: base })
  }))

test('password managers know the fields', () =>
  visit({}, async (page) => {
    await page.goto(await request('Manager'))
    const fields = await page.locator('form input:not([type=hidden])').evaluateAll((all) => all.map((it) => [it.labels[0].textContent, it.type, it.autocomplete]))
    assert.deepEqual(fields, [
      ['Name', 'text', 'username'],
      ['Password', 'password', 'current-password'],
    ])
    await logIn(page, 'alice')
    await page.goto(`${base}/oauth/account`)
    assert.equal(await page.locator('[autocomplete=username]').inputValue(), 'alice')
    assert.equal(await page.getByLabel('Present password').getAttribute('autocomplete'), 'current-password')
    assert.equal(await page.getByLabel('New password').getAttribute('autocomplete'), 'new-password')
    await page.getByRole('button', { name: 'Set up a second factor' }).click()
    assert.equal(await page.getByLabel('Code').getAttribute('autocomplete'), 'one-time-code')
  }))

test('a person signs in without scripts and without styles', () =>
  visit({ scripts: false }, async (page) => {
    await page.route(`${base}/oauth/**`, async (route) => {
      const answer = await route.fetch({ maxRedirects: 0 })
      await route.fulfill({ response: answer, body: (await answer.text()).replace(/<style>[^<]*<\/style>/, '') })
    })
    await page.goto(await request('Plain'))
    await logIn(page, 'alice')
    const allowed = await returned(page, () => page.getByRole('button', { name: 'Allow' }).click())
    assert.match(allowed.code, /^zac_[\w-]{43}$/)
    assert.equal(allowed.iss, base)
  }))

/** Sets the animation of the buttons of a consent to a moment, at which it stands still. */
const at = (page, time) =>
  page.evaluate((time) => {
    const animations = document.getAnimations()
    if (animations.length === 0) throw new Error('nothing appears later')
    for (const animation of animations) {
      animation.pause()
      animation.currentTime = time
    }
  }, time)

test('a click on Allow counts only after 700 ms', () =>
  visit({}, async (page) => {
    await page.goto(await request('Hasty'))
    await logIn(page, 'alice')
    const allow = page.locator('button[value=allow]')
    await allow.waitFor({ state: 'attached' })
    await at(page, 699)
    const { x, y, width, height } = await allow.boundingBox()
    await page.mouse.click(x + width / 2, y + height / 2)
    assert.equal(await allow.isVisible(), false)
    await at(page, 701)
    assert.equal(await allow.isVisible(), true)
    const allowed = await returned(page, () => page.mouse.click(x + width / 2, y + height / 2))
    assert.ok(allowed.code)
  }))

test('the return key allows nothing before Allow appears', () =>
  visit({}, async (page) => {
    await page.goto(await request('Hasty'))
    await logIn(page, 'alice')
    await page.locator('button[value=allow]').waitFor({ state: 'attached' })
    const sent = []
    page.on('request', (asked) => asked.method() === 'POST' && sent.push(asked.url()))
    await at(page, 699)
    // Whatever has the focus: the return key in a box sends the form with its first button.
    for (let stops = 0; stops < 6; stops += 1) {
      await page.keyboard.press('Tab')
      if (await page.evaluate(() => document.activeElement.matches('[type=checkbox]'))) await page.keyboard.press('Enter')
    }
    await at(page, 701)
    await page.getByRole('checkbox', { name: 'shop', exact: true }).uncheck()
    assert.deepEqual(sent, [])
  }))

test('a client that opens a pop-up hears from it', () =>
  visit({}, async (page, context) => {
    // The page of the client.
    await page.goto(redirect)
    const opened = context.waitForEvent('page', (it) => it !== page)
    await page.evaluate((address) => void window.open(address, '', 'popup'), await request('Pop-up'))
    const popUp = await opened
    await logIn(popUp, 'alice')
    await returned(popUp, () => popUp.getByRole('button', { name: 'Allow' }).click())
    assert.equal(await popUp.evaluate(() => window.opener !== null), true)
  }))

test('a person without the program of a scheme has a link to it', () =>
  visit({}, async (page) => {
    const redirect_uri = 'cursor://anysphere.cursor-mcp/oauth/callback'
    await page.goto(await request('Editor', { redirect_uri }))
    await logIn(page, 'alice')
    const tried = page.waitForEvent('requestfailed', (asked) => asked.url().startsWith(redirect_uri))
    await page.getByRole('button', { name: 'Allow' }).click()
    const goal = (await tried).url()
    assert.equal(await page.getByRole('link', { name: 'Continue to Editor' }).getAttribute('href'), goal)
  }))
