// Measures first screen, interactions, second visit, streams and the grid in Chromium, at a quarter of the speed
// of the processor and 10 Mbit/s. Prints one line for each figure with its target; never fails.
import { createRequire } from 'node:module'
import { base, password } from './browser.mjs'
import { editor, facts, grid, run } from './sql-page.mjs'

const require = createRequire(new URL('../../services/console/web/package.json', import.meta.url))
const { chromium } = require('playwright-core')

const SLOWER = 4
const BYTES_PER_SECOND = (10 * 1000 * 1000) / 8
const LATENCY = 20 // milliseconds

const say = (what, value, unit, target) => console.log(`${what.padEnd(52)} ${String(Math.round(value * 100) / 100).padStart(9)} ${unit}   (target ${target})`)

/** Opens a window whose processor and line are slow. */
async function slowPage(context) {
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Network.enable')
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LATENCY,
    downloadThroughput: BYTES_PER_SECOND,
    uploadThroughput: BYTES_PER_SECOND,
  })
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
  return { page, devtools }
}

// Runs in the page before its scripts: keeps what the browser reports.
function observe() {
  globalThis.seen = { shift: 0, tasks: [], interactions: [], paint: 0 }
  const on = (type, take, more) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more })
  on('layout-shift', (entry) => {
    if (!entry.hadRecentInput) globalThis.seen.shift += entry.value
  })
  on('longtask', (entry) => globalThis.seen.tasks.push({ at: entry.startTime, took: entry.duration }))
  on('event', (entry) => entry.interactionId && globalThis.seen.interactions.push(entry.duration), { durationThreshold: 16 })
  on('largest-contentful-paint', (entry) => (globalThis.seen.paint = entry.startTime))
}

const seen = (page) => page.evaluate(() => globalThis.seen)
const longest = (list) => Math.max(0, ...list)
/** Forgets what was seen before. */
const forget = (page) => page.evaluate(() => Object.assign(globalThis.seen, { tasks: [], interactions: [] }))
const settle = (page) => page.evaluate(() => new Promise((done) => requestIdleCallback(() => requestAnimationFrame(done))))

async function firstScreen(page) {
  await page.goto(`${base}/console/`)
  await page.getByLabel('Name').waitFor()
  await settle(page)
  const { paint, shift } = await seen(page)
  say('first screen, largest paint', paint, 'ms', '1500')
  say('first screen, layout shift', shift, '', '0.05')
}

async function signIn(page) {
  await page.getByLabel('Name').fill('alice')
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('navigation', { name: 'Screens' }).waitFor()
  await settle(page)
}

async function secondVisit(page, devtools) {
  let bytes = 0
  const count = ({ encodedDataLength }) => (bytes += encodedDataLength)
  devtools.on('Network.loadingFinished', count)
  await page.goto(`${base}/console/`)
  await page.getByRole('navigation', { name: 'Screens' }).waitFor()
  await settle(page)
  devtools.off('Network.loadingFinished', count)
  const { paint, shift } = await seen(page)
  say('second visit, bytes', bytes / 1000, 'kB', '30')
  say('second visit, largest paint', paint, 'ms', '1500')
  say('second visit, layout shift', shift, '', '0.05')
}

async function screens(page) {
  for (const name of ['SQL', 'Schema', 'Search', 'Tools', 'Ask']) {
    await forget(page)
    await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name, exact: true }).click()
    await page.getByRole('heading', { level: 1, name }).waitFor({ state: 'attached' })
    await settle(page)
    const { interactions } = await seen(page)
    say(`interaction: open ${name}`, longest(interactions), 'ms', '200')
  }
}

async function typing(page) {
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'SQL', exact: true }).click()
  await editor(page).click()
  await settle(page)
  await forget(page)
  await page.keyboard.type('select * from orders where total > 10', { delay: 30 })
  await settle(page)
  say('interaction: a key in the editor', longest((await seen(page)).interactions), 'ms', '200')
}

async function rows(page) {
  await page.keyboard.press('Escape')
  await forget(page)
  await run(page, 'select n, n * 2 as twice, md5(n::text) as words from generate_series(1, 100000) n')
  await facts(page, 'rows')
  await settle(page)
  const { tasks } = await seen(page)
  say('1,000 rows, longest task', longest(tasks.map(({ took }) => took)), 'ms', '50')
  await forget(page)
  await grid(page).focus()
  for (const key of ['PageDown', 'PageDown', 'Control+End', 'Control+Home', 'ArrowRight']) await page.keyboard.press(key)
  await settle(page)
  say('interaction: a key in the grid', longest((await seen(page)).interactions), 'ms', '200')
}

async function stream(page) {
  await page.goto(`${base}/console/ask?db=shop`)
  const question = page.getByRole('textbox', { name: 'Question' })
  await question.fill('Tell a long story')
  await settle(page)
  await forget(page)
  await page.keyboard.press('Enter')
  // A look for a role and a name would cost the page more than the stream does.
  await page.locator('.turn-foot').waitFor({ timeout: 60_000 })
  await settle(page)
  const { tasks } = await seen(page)
  say('stream of 200 events a second, longest task', longest(tasks.map(({ took }) => took)), 'ms', '50')
  say('stream of 200 events a second, tasks above 50 ms', tasks.length, '', '0')
}

// A hundred thousand rows of 12 columns, at full speed.
async function largeGrid(context) {
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await page.goto(`${base}/console/sql?db=shop`)
  await page.getByRole('combobox', { name: 'Row limit' }).selectOption('100000')
  const columns = Array.from({ length: 11 }, (_, at) => `md5((n + ${at})::text) as c${at}`)
  await page.evaluate(() => {
    globalThis.rows = {}
    const look = () => {
      const { rows } = globalThis
      if (document.querySelector('[role=gridcell]')) rows.first ??= performance.now()
      if (/100,000 rows/.test(document.querySelector('#console').textContent)) rows.all ??= performance.now()
      if (!rows.all) requestAnimationFrame(look)
    }
    look()
  })
  await run(page, `select n, ${columns.join(', ')} from generate_series(1, 100000) n`)
  await facts(page, '100,000 rows')
  const { first, all, response } = await page.evaluate(() => {
    const answer = performance.getEntriesByType('resource').findLast(({ name }) => name.endsWith('/api/query'))
    return { ...globalThis.rows, response: answer.responseStart }
  })
  say('grid of 100,000 rows: first rows after the first byte', first - response, 'ms', '300')
  say('grid of 100,000 rows: all rows', all - response, 'ms', '4000')
  await scrolling(page)
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  say('grid of 100,000 rows: heap', usedSize / 1e6, 'MB', '200')
  await copying(page, context)
  await page.close()
}

async function scrolling(page) {
  const frames = await grid(page).evaluate(async (element) => {
    const found = []
    const end = performance.now() + 10_000
    let before = await new Promise(requestAnimationFrame)
    while (before < end) {
      element.scrollTop += 400
      const now = await new Promise(requestAnimationFrame)
      found.push(now - before)
      before = now
    }
    return found.sort((one, two) => one - two)
  })
  say('grid: 95 % of frames while scrolling', frames[Math.floor(frames.length * 0.95)], 'ms', '16.7')
  say('grid: longest frame while scrolling', frames.at(-1), 'ms', '100')
}

// A thousand rows of ten columns.
async function copying(page, context) {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await grid(page).focus()
  await page.keyboard.press('Control+Home')
  const current = () => grid(page).evaluate((element) => Number(element.querySelector('.is-active')?.closest('[aria-rowindex]')?.getAttribute('aria-rowindex')))
  while ((await current()) < 1000) await page.keyboard.press('Shift+PageDown')
  for (let column = 1; column < 10; column += 1) await page.keyboard.press('Shift+ArrowRight')
  const began = performance.now()
  await page.keyboard.press('Control+c')
  await page.getByText(/^Copied /).first().waitFor()
  say(`grid: ${await page.getByText(/^Copied /).first().textContent()}`, performance.now() - began, 'ms', '500')
}

const browser = await chromium.launch({ executablePath: process.env.CONSOLE_BROWSER, args: ['--no-sandbox'] })
try {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  await context.addInitScript(observe)
  const { page, devtools } = await slowPage(context)
  await firstScreen(page)
  await signIn(page)
  await secondVisit(page, devtools)
  await screens(page)
  await typing(page)
  await rows(page)
  await stream(page)
  await page.close()
  await largeGrid(context)
} finally {
  await browser.close()
}
