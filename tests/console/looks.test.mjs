import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { assertAccessible, base, rag, signIn, visit, withBrowser } from './browser.mjs'
import { Pictures, SIZES, THEMES } from './pictures.mjs'
import { SCREENS } from './screens.mjs'

withBrowser()

// One test, since what it leaves on the server is seen in its later pictures.
test('all screens look as before and are accessible', async () => {
  const pictures = new Pictures()
  for (const size of SIZES) {
    await visit({ ...size, bypassPolicy: true }, async (page) => {
      const look = async (name) => {
        for (const colorScheme of process.env.CONSOLE_LOOKS === 'all' ? THEMES : size.themes) {
          await page.emulateMedia({ colorScheme })
          await assertAccessible(page, `${name} in ${colorScheme}`)
        }
        await pictures.compare(page, name)
      }
      await page.goto(`${base}/console/`)
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      await look('sign-in')
      await signIn(page)
      for (const { name, path, ready } of SCREENS) {
        await page.goto(base + path)
        await ready(page)
        await look(name)
        // An address that differs behind # alone would not load the page again.
        await page.goto('about:blank')
      }
      await page.goto(`${base}/console/search`)
      await page.getByRole('searchbox', { name: 'Question' }).waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Command palette' }).waitFor()
      await look('palette')
    })
  }
  pictures.end()
})

test('the page of ziggurat-rag looks as before', () =>
  visit({}, async (page) => {
    const pictures = new Pictures()
    for (const size of SIZES) {
      await page.setViewportSize(size)
      await page.goto(`${rag.base}/`)
      await page.getByRole('combobox', { name: 'Pipeline' }).selectOption('model')
      await page.getByRole('textbox', { name: 'Question' }).fill('How do I wash wool?')
      await pictures.compare(page, 'rag')
      await page.keyboard.press('Enter')
      await page.getByRole('article').and(page.locator('[aria-busy=false]')).waitFor()
      await pictures.compare(page, 'rag-answer')
    }
    pictures.end()
  }))

test('the components look as before', () =>
  visit({}, async (page) => {
    const web = fileURLToPath(new URL('../../services/console/web/', import.meta.url))
    const built = mkdtempSync(join(tmpdir(), 'gallery-'))
    try {
      execFileSync('node', ['build.mjs', '--gallery', '--out', built], { cwd: web, stdio: 'inherit' })
      await page.route(`${base}/console/assets/*`, (route) => route.fulfill({ path: join(built, 'assets', new URL(route.request().url()).pathname.split('/').pop()) }))
      await page.route(`${base}/console/gallery`, (route) => route.fulfill({ contentType: 'text/html', body: readFileSync(join(built, 'gallery.html')) }))
      const pictures = new Pictures()
      for (const size of SIZES) {
        await page.setViewportSize(size)
        await page.goto(`${base}/console/gallery`)
        await page.getByRole('heading', { name: 'Gallery' }).waitFor()
        await pictures.compare(page, 'gallery', { fullPage: true })
      }
      pictures.end()
    } finally {
      rmSync(built, { recursive: true, force: true })
    }
  }))

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
