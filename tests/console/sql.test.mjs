import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { base, signIn, until, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer } from './hands.mjs'

withBrowser()

const grid = (page) => page.getByRole('grid', { name: 'Rows' })
const editor = (page) => page.getByRole('textbox', { name: 'SQL', exact: true })
const facts = (page, words) => page.getByRole('status').filter({ hasText: words }).waitFor()

/** Replaces the text of the editor. */
async function write(page, text) {
  await editor(page).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
  await page.keyboard.press('Escape')
}

async function run(page, text) {
  await write(page, text)
  await page.keyboard.press('Control+Enter')
}

/** The cell that has the focus of a grid. */
const active = (page) =>
  grid(page).evaluate((node) => document.getElementById(node.getAttribute('aria-activedescendant') ?? '')?.textContent ?? '')

for (const hand of [pointer, keyboard]) {
  describe(`by ${hand.name}`, () => {
    test('an analyst corrects a statement, reads the rows and takes them away', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/sql?db=shop')
        await hand.fill(page, editor(page), 'select city, count(*) from customer group by 1 order by 1')
        await page.keyboard.press('Escape')
        await page.keyboard.press('Control+Enter')
        await page.getByText('relation "customer" does not exist').waitFor()
        await page.getByText('SQLSTATE 42P01').waitFor()
        await hand.fill(page, editor(page), 'select city, count(*) from customers group by 1 order by 1')
        await page.keyboard.press('Escape')
        await page.keyboard.press('Control+Enter')
        await facts(page, '3 rows')
        assert.equal(await grid(page).getAttribute('aria-rowcount'), '4')
        await hand.press(page, page.getByRole('button', { name: 'Copy', exact: true }))
        await hand.press(page, page.getByRole('menuitem', { name: 'As Markdown' }))
        await page.getByText('Copied 1 row × 1 column.').waitFor()
        assert.match(await page.evaluate(() => navigator.clipboard.readText()), /\| city \|\n\| --- \|\n\| Nippur \|/)
        await hand.press(page, page.getByRole('button', { name: 'Export' }))
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          hand.press(page, page.getByRole('button', { name: 'Save the file' })),
        ])
        assert.equal(await readFile(await file.path(), 'utf8'), 'city,count\r\nNippur,67\r\nUr,66\r\nUruk,67\r\n')
      }))

    test('an analyst sorts, filters and looks into a value without running again', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/sql?db=shop')
        await hand.fill(page, editor(page), `select id, name, jsonb_build_object('city', city) as data from customers`)
        await page.keyboard.press('Escape')
        await page.keyboard.press('Control+Enter')
        await facts(page, '200 rows')
        await grid(page).focus()
        await page.keyboard.press('ArrowUp')
        await page.keyboard.press('Enter')
        await hand.press(page, page.getByRole('menuitem', { name: 'Sort downwards' }))
        await page.getByText('Sorted by id: the loaded rows only.').waitFor()
        await page.keyboard.press('ArrowDown')
        await until(async () => (await active(page)) === '200', 'the largest id is first')
        await hand.fill(page, page.getByRole('searchbox', { name: 'Filter the loaded rows' }), 'Customer 19')
        await page.getByText('11 rows of 200 loaded pass the filter.').waitFor()
        await grid(page).focus()
        await page.keyboard.press('End')
        await page.keyboard.press('Enter')
        const dialog = page.getByRole('dialog', { name: 'Value of data' })
        await dialog.getByText('city').first().waitFor()
        await hand.press(page, dialog.getByRole('button', { name: 'Close' }).last())
        await dialog.waitFor({ state: 'detached' })
      }))

    test('a write runs only when it is confirmed, and the dialog begins with not running', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/sql?db=workshop')
        const name = `written_by_${hand.name}`
        await run(page, `create table ${name} (id int)`)
        const dialog = page.getByRole('dialog', { name: 'This statement may change data' })
        await dialog.getByText(`create table ${name} (id int)`).waitFor()
        await dialog.getByText('workshop').waitFor()
        await page.keyboard.press('Enter')
        await dialog.waitFor({ state: 'detached' })
        await run(page, `select to_regclass('${name}') is null as missing`)
        await facts(page, '1 row')
        await grid(page).focus()
        assert.equal(await active(page), 'true')
        await run(page, `create table ${name} (id int)`)
        await hand.press(page, dialog.getByRole('button', { name: 'Run it' }))
        await dialog.waitFor({ state: 'detached' })
        await page.getByText(/CREATE TABLE/).first().waitFor()
      }))

    test('an analyst draws a chart and reads why a statement is slow', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/sql?db=shop')
        await run(page, `select date_trunc('month', created_at) as month, sum(total) from orders group by 1 order by 1`)
        await facts(page, 'rows')
        await hand.press(page, page.getByRole('tab', { name: 'Chart' }))
        await page.getByText(/Line: sum by month\./).waitFor()
        await hand.press(page, page.getByText('The numbers as a table'))
        await page.getByRole('cell').first().waitFor()
        await hand.press(page, page.getByRole('tab', { name: 'Plan' }))
        await hand.press(page, page.getByRole('tabpanel').getByRole('button', { name: /Explain analyse/ }))
        await page.getByRole('rowheader', { name: /Seq Scan on orders/ }).waitFor()
      }))
  })
}

test('a hundred thousand rows scroll to the last one', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await page.getByRole('combobox', { name: 'Limit of rows' }).selectOption('100000')
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
    await facts(page, '1,000 rows, there are more')
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
    const dialog = page.getByRole('dialog', { name: 'Values' })
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
