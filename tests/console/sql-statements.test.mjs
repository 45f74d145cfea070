import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base, signIn, until, visit, withBrowser } from './browser.mjs'
import { active, editor, facts, grid, run, write } from './sql-page.mjs'

withBrowser()

test('a hundred thousand rows scroll to the last one', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await page.getByRole('combobox', { name: 'Row limit' }).selectOption('100000')
    await run(page, `select n, 'row ' || n as name, n * 1.5 as half from generate_series(1, 100000) n`)
    await facts(page, '100,000 rows')
    assert.equal(await grid(page).getAttribute('aria-rowcount'), '100001')
    await grid(page).focus()
    await page.keyboard.press('Control+End')
    await until(async () => (await active(page)) === '150000.0', 'the last row is shown')
    const elements = await grid(page).evaluate((node) => node.querySelectorAll('*').length)
    assert.ok(elements < 1000, `${elements} elements`)
  }))

test('rows beyond the limit are named and loaded on demand', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await run(page, 'select n from generate_series(1, 3000) n')
    await facts(page, '1,000 rows, more available')
    await page.getByRole('button', { name: 'Load 10,000' }).click()
    await facts(page, '3,000 rows')
  }))

test('several statements run one after another and stop at the first failure', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await write(page, 'select 1; select nothing; select 3')
    await page.keyboard.press('Control+a')
    await page.keyboard.press('Control+Enter')
    await page.getByText('column "nothing" does not exist').waitFor()
    assert.equal(await page.getByRole('tablist', { name: 'Results' }).getByRole('tab').count(), 2)
  }))

test('Stop ends a statement, and what is typed stays', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await run(page, 'select pg_sleep(20)')
    await page.getByRole('button', { name: 'Stop' }).first().click()
    await page.getByText('Stopped.').waitFor()
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
  }))

test('values are quoted and shown before the statement runs', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await run(page, 'select {{name}} as name')
    const dialog = page.getByRole('dialog', { name: 'Parameters' })
    await dialog.getByLabel('name', { exact: true }).fill(`O'Hara`)
    await dialog.getByText(`select 'O''Hara' as name`).waitFor()
    await page.keyboard.press('Enter')
    await facts(page, '1 row')
    await grid(page).focus()
    assert.equal(await active(page), `O'Hara`)
  }))

test('a link fills the editor, does not run, and leaves the address', () =>
  visit({}, async (page) => {
    const asked = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await signIn(page, `/console/sql?db=shop#${encodeURIComponent('select 42 as answer')}`)
    await until(async () => /select 42 as answer/.test(await editor(page).innerText()), 'the editor has the text of the link')
    assert.ok(!asked.includes('/api/query'))
    assert.equal(new URL(page.url()).hash, '')
  }))

test('drafts and history outlast a reload and are gone after signing out', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await run(page, 'select 1 as kept')
    await facts(page, '1 row')
    await page.reload()
    await until(async () => /select 1 as kept/.test(await editor(page).innerText()), 'the draft is back')
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('button', { name: /select 1 as kept/ }).waitFor()
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    const left = await page.evaluate(() => indexedDB.databases())
    assert.deepEqual(left, [])
    await signIn(page, '/console/sql?db=shop')
    assert.doesNotMatch(await editor(page).innerText(), /kept/)
  }))

test('texts of a database stay texts in names, cells and errors', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await run(page, `select id, text, text as "<img src=x onerror=alert(1)>" from hostile.texts order by id`)
    await facts(page, 'rows')
    await grid(page).focus()
    for (let row = 0; row < 12; row += 1) {
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('End')
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await until(() => grid(page).evaluate((node) => node === document.activeElement), 'the focus is back in the grid')
    }
    await run(page, `select hostile.fail('<script>document.title = ''run''</script>')`)
    await page.getByText(`<script>document.title = 'run'</script>`).first().waitFor()
    assert.doesNotMatch(await page.title(), /^run/)
  }))

test('Tab indents in the editor; Escape and then Tab leave it', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await write(page, 'select 1')
    await page.keyboard.press('Home')
    await page.keyboard.press('Tab')
    await until(async () => /^\s+select 1/.test(await editor(page).innerText()), 'the line is indented')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    assert.equal(await editor(page).evaluate((node) => node === node.getRootNode().activeElement), false)
  }))

test('two tabs with two databases run each statement in their own', () =>
  visit({}, async (page, context) => {
    await signIn(page, '/console/sql?db=shop')
    const other = await context.newPage()
    await other.goto(`${base}/console/sql?db=workshop`)
    for (const [tab, name] of [[page, 'shop'], [other, 'workshop'], [page, 'shop']]) {
      const [request] = await Promise.all([
        tab.waitForRequest((found) => found.url().endsWith('/api/query')),
        run(tab, `select 1 as in_${name}`),
      ])
      assert.equal(request.postDataJSON().database, name)
      await facts(tab, name)
    }
  }))
