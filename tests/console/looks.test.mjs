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

test('at 320 pixels nothing needs scrolling sideways', () =>
  visit({ width: 320, height: 640 }, async (page) => {
    await signIn(page)
    for (const { path, ready } of SCREENS) {
      await page.goto(base + path)
      await ready(page)
      const over = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)
      if (over > 0) throw new Error(`${path} is ${over} pixels too wide`)
    }
  }))

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
