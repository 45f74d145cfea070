// Starts the demo, signs in as its user, and takes a picture of each screen in both themes.
// `node screenshots.mjs FOLDER`
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(new URL('../../services/console/web/package.json', import.meta.url))
const { chromium } = require('playwright-core')
const [folder] = process.argv.slice(2)

const PATIENCE = 180_000 // milliseconds for the demo to start
const SIZES = { wide: { width: 1440, height: 900 }, narrow: { width: 360, height: 780 } }

const SCREENS = [
  { name: 'ask', path: 'ask', ready: (page) => page.locator('.ask-screen').waitFor() },
  {
    name: 'sql',
    path: 'sql#select%20category%2C%20count(*)%20as%20products%2C%20round(avg(price)%2C%202)%20as%20average%0Afrom%20products%0Agroup%20by%20category%0Aorder%20by%202%20desc',
    ready: async (page) => {
      await page.getByText('average', { exact: false }).first().waitFor()
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      await page.getByRole('grid').waitFor()
    },
  },
  { name: 'schema', path: 'schema', ready: (page) => page.getByRole('tree').waitFor() },
  {
    name: 'search',
    path: 'search',
    ready: async (page) => {
      await page.getByRole('searchbox', { name: 'Question' }).fill('How do I wash wool?')
      await page.keyboard.press('Enter')
      await page.locator('.passage').first().waitFor()
    },
  },
  {
    name: 'tools',
    path: 'tools?open=tool%2Fquery_database',
    ready: async (page) => {
      await page.getByLabel('query', { exact: true }).fill('select * from revenue_by_month order by 1')
      await page.getByRole('button', { name: 'Call' }).click()
      await page.getByRole('tab', { name: 'Table' }).waitFor()
    },
  },
  { name: 'activity', path: 'activity', ready: (page) => page.getByRole('heading', { name: 'Connections' }).waitFor() },
  { name: 'admin', path: 'admin', ready: (page) => page.getByRole('table').waitFor() },
]

// Reads what the demo says about itself until it has named its address, and a user with a password.
async function startDemo() {
  const demo = spawn(join(process.env.CONSOLE_PROGRAMS, 'ziggurat-demo'), ['--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const late = setTimeout(() => demo.kill(), PATIENCE)
  let said = ''
  for await (const piece of demo.stdout) {
    said += piece
    const found = /Console\s+(http:\/\/[^/\s]+)\/console\/ for (\S+) \(password (\S+)\)/.exec(said)
    if (!found) continue
    clearTimeout(late)
    demo.stdout.resume()
    const [, address, user, password] = found
    return { demo, address, user, password }
  }
  throw new Error(`the demo has ended:\n${said}`)
}

async function picture(browser, { address, user, password }, scheme) {
  const context = await browser.newContext({ viewport: SIZES.wide, colorScheme: scheme, reducedMotion: 'reduce' })
  const page = await context.newPage()
  const take = async (name) => {
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport)
      await page.screenshot({ path: join(folder, `${name}-${size}-${scheme}.png`) })
    }
    await page.setViewportSize(SIZES.wide)
  }
  await page.goto(`${address}/console/`)
  await page.getByLabel('Name').waitFor()
  await take('sign-in')
  await page.getByLabel('Name').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('navigation', { name: 'Screens' }).waitFor()
  for (const { name, path, ready } of SCREENS) {
    await page.goto(`${address}/console/${path}`)
    await ready(page)
    await take(name)
  }
  await context.close()
}

const started = await startDemo()
try {
  const browser = await chromium.launch({ executablePath: process.env.CONSOLE_BROWSER, args: ['--no-sandbox'] })
  for (const scheme of ['light', 'dark']) await picture(browser, started, scheme)
  await browser.close()
} finally {
  const gone = once(started.demo, 'exit')
  started.demo.kill('SIGINT')
  await gone
}
