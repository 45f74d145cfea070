// Two tabs, and what time does to them: reloads, Back and Forward.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base, signIn, until, visit, withBrowser } from './browser.mjs'
import { active, facts, grid, run, write, editor } from './sql-page.mjs'

withBrowser()

// `CONSOLE_TIMES=500` runs as many statements in each tab.
const TIMES = Number(process.env.CONSOLE_TIMES ?? 10)

/** Returns the one value of the row that a statement has made, once its column is shown. */
async function valueOf(page, column) {
  await grid(page).getByRole('columnheader', { name: new RegExp(column) }).waitFor()
  await grid(page).focus()
  return active(page)
}

test('statements of two tabs run in turns, each in the database of its tab', () =>
  visit({}, async (page, context) => {
    await signIn(page, '/console/sql?db=shop')
    const other = await context.newPage()
    await other.goto(`${base}/console/sql?db=workshop`)
    await editor(other).waitFor()
    const tabs = [
      { tab: page, database: 'shop' },
      { tab: other, database: 'workshop' },
    ]
    const sent = []
    context.on('request', (request) => {
      if (new URL(request.url()).pathname === '/api/query') sent.push(request.postDataJSON())
    })
    for (let turn = 0; turn < TIMES; turn += 1) {
      // Both run before the first is read. A tab in the background is drawn once a second only.
      for (const { tab, database } of tabs) {
        await tab.bringToFront()
        await run(tab, `select '${database} ${turn}' as of_${database}_${turn}`)
      }
      for (const { tab, database } of tabs) {
        await tab.bringToFront()
        assert.equal(await valueOf(tab, `of_${database}_${turn}`), `${database} ${turn}`)
        const words = await tab.getByRole('status').filter({ hasText: '1 row' }).textContent()
        assert.match(words, new RegExp(`\\b${database}\\b`))
      }
    }
    assert.equal(sent.length, 2 * TIMES)
    for (const { database, sql } of sent) assert.ok(sql.startsWith(`select '${database} `), `${sql} was sent to ${database}`)
  }))

test('a reload keeps the text, and does not run the statement again', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await run(page, 'select 1 as first')
    await facts(page, '1 row')
    await write(page, 'select 2 as second')
    const asked = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await until(() => page.evaluate(async () => (await indexedDB.databases()).length > 0), 'a kept draft')
    await page.reload()
    await page.getByText('select 2 as second').first().waitFor()
    assert.ok(!asked.includes('/api/query'))
  }))

test('Back and Forward go through the screens with their databases', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=workshop')
    const names = ['Schema', 'Tools', 'Search', 'Ask']
    const heading = (name) => page.getByRole('heading', { level: 1, name }).waitFor({ state: 'attached' })
    await heading('SQL')
    for (const name of names) {
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name }).click()
      await heading(name)
    }
    const way = ['SQL', ...names]
    for (const name of way.slice(0, -1).reverse()) {
      await page.goBack()
      await heading(name)
      assert.equal(new URL(page.url()).searchParams.get('db'), 'workshop')
    }
    for (const name of names) {
      await page.goForward()
      await heading(name)
    }
  }))
