// The browser of the tests, and what every page of them is watched for.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before } from 'node:test'

const require = createRequire(new URL('../../services/console/web/package.json', import.meta.url))
const { chromium } = require('playwright-core')
const axe = require.resolve('axe-core')

/** Address of the server, without a slash at its end. */
export const base = process.env.CONSOLE_URL
export const password = process.env.CONSOLE_PASSWORD
export const token = process.env.CONSOLE_TOKEN

/** The server for answers: one that needs no token, and one that needs this. */
export const rag = { base: process.env.CONSOLE_RAG_URL, closed: process.env.CONSOLE_RAG_AUTH_URL, token: process.env.CONSOLE_RAG_TOKEN }

/** The server with browser sign-in. */
export const signInBase = process.env.CONSOLE_SIGN_IN_URL

const PATIENCE = 10_000 // milliseconds that a condition may take

let browser

/** Starts the browser of a file with tests, and stops it after them. */
export function withBrowser() {
  before(async () => {
    browser = await chromium.launch({ executablePath: process.env.CONSOLE_BROWSER, args: ['--no-sandbox', '--font-render-hinting=none'] })
  })
  after(() => browser.close())
}

// What the browser says about answers that the tests provoke on purpose.
const PROVOKED = /Failed to load resource: the server responded with a status of (400|401|403|404|409|422|429)/

/**
 * Opens a window for a test. `steps` gets a page; afterwards nothing may have been said on the console, thrown,
 * refused by the policy or asked of another server.
 */
export async function visit({ width = 1440, height = 900, scheme = 'light', touch = false, bypassPolicy = false, forcedColors = 'none', scripts = true } = {}, steps) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    forcedColors,
    hasTouch: touch,
    reducedMotion: 'reduce',
    bypassCSP: bypassPolicy,
    javaScriptEnabled: scripts,
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(PATIENCE)
  const seen = []
  context.on('page', (page) => watch(page, seen))
  try {
    const page = await context.newPage()
    await steps(page, context)
  } finally {
    await context.close()
  }
  assert.deepEqual(seen, [])
}

function watch(page, seen) {
  page.on('console', (message) => {
    if (!PROVOKED.test(message.text())) seen.push(`console ${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => seen.push(`page error: ${error.stack}`))
  page.on('dialog', (dialog) => {
    seen.push(`dialog: ${dialog.message()}`)
    dialog.dismiss()
  })
  page.on('request', (request) => {
    const url = request.url()
    if (![base, signInBase, rag.base, rag.closed].some((own) => url.startsWith(`${own}/`)) && url.startsWith('http')) seen.push(`request: ${url}`)
  })
}

/** Signs in as a user and waits for the first screen. */
export async function signIn(page, path = '/console/', user = 'alice') {
  await page.goto(base + path)
  await page.getByLabel('Name').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('navigation', { name: 'Screens' }).waitFor()
}

/** Asserts that the page breaks no rule of accessibility. Its window has to be opened with `bypassPolicy`. */
export async function assertAccessible(page, what) {
  await page.addScriptTag({ path: axe })
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }),
  )
  const found = violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`))
  assert.deepEqual(found, [], what)
}

/** Waits until a condition in the test holds. */
export async function until(condition, what) {
  const end = Date.now() + PATIENCE
  for (;;) {
    if (await condition()) return
    if (Date.now() > end) throw new Error(`${what} did not happen`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
