import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, base, signIn, visit, withBrowser } from './browser.mjs'
import { SCREENS } from './screens.mjs'

withBrowser()

// Each size and each theme once: `CONSOLE_LOOKS=all` looks at each theme in each size.
const LOOKS = [
  [1440, 900, 'light'],
  [360, 780, 'dark'],
]
const OTHERS = [
  [1440, 900, 'dark'],
  [360, 780, 'light'],
]

for (const [width, height, scheme] of process.env.CONSOLE_LOOKS === 'all' ? [...LOOKS, ...OTHERS] : LOOKS) {
  test(`all screens are accessible at ${width} pixels in ${scheme}`, () =>
    visit({ width, height, scheme, bypassPolicy: true }, async (page) => {
      await page.goto(`${base}/console/`)
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      await assertAccessible(page, 'sign-in')
      await signIn(page)
      for (const { name, path, ready } of SCREENS) {
        await page.goto(base + path)
        await ready(page)
        await assertAccessible(page, name)
      }
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Find or do' }).waitFor()
      await assertAccessible(page, 'palette')
    }))
}

test('at 320 pixels nothing needs scrolling sideways, nor does it in a language of longer words', () =>
  visit({ width: 320, height: 640 }, async (page) => {
    await signIn(page)
    for (const { path, ready } of SCREENS) {
      await page.goto(base + path)
      await ready(page)
      for (const words of ['its own', 'longer']) {
        const over = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)
        if (over > 0) throw new Error(`${path} is ${over} pixels too wide with ${words} words`)
        await page.evaluate(lengthen)
      }
      // An address that differs behind # alone would not load the page again.
      await page.goto('about:blank')
    }
  }))

// Makes the words of the page longer by two fifths, but not those that come from elsewhere.
function lengthen() {
  const walker = document.createTreeWalker(document.querySelector('#console'), NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const { currentNode: node } = walker
    const words = node.data.trim()
    if (words && !node.parentElement.closest('.foreign, .mono, [role=grid], pre, code, svg, option, textarea')) node.data += ` ${words.slice(0, Math.ceil(words.length * 0.4))}`
  }
}

test('with forced colours what is chosen is marked', () =>
  visit({ forcedColors: 'active' }, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await page.getByRole('tab', { name: 'Saved' }).waitFor()
    const styleOf = (target, name) => target.evaluate((element, name) => getComputedStyle(element)[name], name)
    const screens = page.getByRole('navigation', { name: 'Screens' })
    assert.equal(await styleOf(screens.getByRole('link', { name: 'SQL' }), 'outlineStyle'), 'solid')
    assert.equal(await styleOf(screens.getByRole('link', { name: 'Ask' }), 'outlineStyle'), 'none')
    const line = (name) => styleOf(page.getByRole('tab', { name }), 'borderBlockEndColor')
    assert.notEqual(await line('Tables'), await line('Saved'))
  }))

// Answers of the server that leave a screen without its content.
const STATES = {
  'that cannot load': (route) => route.fulfill({ status: 429, json: { error: 'Too many requests', code: 'too_many_requests' } }),
  'that still load': () => {},
  'without content': async (route) => {
    const response = await route.fetch()
    const isJson = response.headers()['content-type'] === 'application/json'
    return route.fulfill({ response, ...(isJson && { json: emptied(await response.json()) }) })
  },
}

const PLACES = ['ask', 'sql', 'schema', 'search', 'tools', 'activity', 'activity?view=audit', ...['tokens', 'users', 'databases', 'configuration', 'server'].map((part) => `admin?part=${part}`)]

// Lists have nothing in them, but for the databases: without one there is no screen.
function emptied(value, name = '') {
  if (Array.isArray(value)) return name === 'databases' ? value : []
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, emptied(inner, name)]))
  return value
}

for (const [state, answer] of Object.entries(STATES)) {
  test(`screens ${state} are accessible and not too wide`, () =>
    visit({ width: 360, height: 780, bypassPolicy: true }, async (page) => {
      await signIn(page)
      await page.route(/\/(api|mcp)\b(?!\/(console|databases)\b)/, answer)
      for (const place of PLACES) {
        await page.goto(`${base}/console/${place}`)
        await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
        // What takes longer than 150 ms has a sign of it.
        await page.waitForFunction(() => performance.now() > 500)
        await assertAccessible(page, `${place} ${state}`)
        const over = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)
        assert.ok(over <= 0, `${place} is ${over} pixels too wide`)
      }
    }))
}
