// Screens while they load, when they fail and when they have nothing to show.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, base, signIn, visit, withBrowser } from './browser.mjs'
import { Pictures, SIZES } from './pictures.mjs'

withBrowser()

// Answers of the server that leave a screen without its content.
const STATES = {
  failing: (route) => route.fulfill({ status: 429, json: { error: 'Too many requests', code: 'too_many_requests' } }),
  loading: () => {},
  empty: async (route) => {
    const response = await route.fetch()
    const isJson = response.headers()['content-type'] === 'application/json'
    return route.fulfill({ response, ...(isJson && { json: emptied(await response.json()) }) })
  },
}

const PLACES = ['ask', 'sql', 'schema', 'search', 'tools', 'activity', 'activity?view=audit', ...['tokens', 'users', 'databases', 'configuration', 'server'].map((part) => `admin?part=${part}`)]

// Lists have nothing in them and no further page, but for the databases: without one there is no screen.
function emptied(value, name = '') {
  if (name === 'next') return null
  if (Array.isArray(value)) return name === 'databases' ? value : []
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, emptied(inner, name)]))
  return value
}

for (const [state, answer] of Object.entries(STATES)) {
  test(`screens that are ${state} look as before, are accessible and not too wide`, () =>
    visit({ width: 360, height: 780, bypassPolicy: true }, async (page) => {
      const pictures = new Pictures()
      await signIn(page)
      await page.clock.install()
      await page.route(/\/(api|mcp)\b(?!\/(console|databases)\b)/, answer)
      for (const place of PLACES) {
        await page.setViewportSize(SIZES.at(-1))
        await page.goto(`${base}/console/${place}`)
        await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
        // What takes longer than 3 s has a sign of it, and can be stopped.
        await page.clock.fastForward(4000)
        await assertAccessible(page, `${place}, ${state}`)
        const over = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)
        assert.ok(over <= 0, `${place} is ${over} pixels too wide`)
        for (const size of SIZES) {
          await page.setViewportSize(size)
          await pictures.compare(page, `${place.replace(/\W/g, '-')}-${state}`)
        }
        if (state !== 'loading') continue
        await page.setViewportSize(SIZES[0])
        for (const stop of await page.getByRole('button', { name: 'Stop', exact: true }).all()) {
          await stop.click()
          await page.getByText('Stopped before there was an answer.').first().waitFor()
        }
        assert.equal(await page.getByText(/^Loading for/).count(), 0, place)
      }
      pictures.end()
    }))
}
