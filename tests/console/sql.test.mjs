import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { signIn, until, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer } from './hands.mjs'
import { active, changedSides, editor, facts, grid, run, write } from './sql-page.mjs'

withBrowser()

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
          hand.press(page, page.getByRole('button', { name: 'Download' })),
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
        await hand.press(page, page.getByRole('menuitem', { name: 'Sort descending' }))
        await page.getByText('Sorted by id (loaded rows only).').waitFor()
        await page.keyboard.press('ArrowDown')
        await until(async () => (await active(page)) === '200', 'the largest id is first')
        await hand.fill(page, page.getByRole('searchbox', { name: 'Filter loaded rows' }), 'Customer 19')
        await page.getByText('11 of 200 loaded rows match.').waitFor()
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
        await dialog.getByText('There is no preview: it changes definitions (pg_class).').waitFor()
        await page.keyboard.press('Enter')
        await dialog.waitFor({ state: 'detached' })
        await run(page, `select to_regclass('${name}') is null as missing`)
        await facts(page, '1 row')
        await grid(page).focus()
        assert.equal(await active(page), 'true')
        await run(page, `create table ${name} (id int)`)
        await hand.press(page, dialog.getByRole('button', { name: 'Run', exact: true }))
        await dialog.waitFor({ state: 'detached' })
        await page.getByText(/CREATE TABLE/).first().waitFor()
      }))

    test('a person sees the rows that a write would change, and commits exactly them', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/sql?db=workshop')
        const name = `changed_by_${hand.name}`
        await run(page, `create table ${name} (id int primary key, note text)`)
        await hand.press(page, page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }))
        await page.getByText(/CREATE TABLE/).first().waitFor()
        await run(page, `insert into ${name} values (1, 'old'), (2, null)`)
        const added = page.getByRole('dialog', { name: 'This statement would change 2 rows' })
        await added.getByRole('listitem').filter({ hasText: 'Row id “2” is added: note NULL.' }).waitFor()
        assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Do not commit')
        await hand.press(page, added.getByRole('button', { name: 'Commit exactly this change' }))
        await page.getByText(/INSERT/).first().waitFor()
        await write(page, `update ${name} set note = 'new' where id = 1`)
        await hand.press(page, page.getByRole('button', { name: 'Preview', exact: true }))
        const shown = page.getByRole('dialog', { name: 'This statement would change 1 row' })
        await shown.getByText(/^1 changed$/).waitFor()
        assert.deepEqual(await changedSides(shown), { Before: [['~', '1', 'old']], After: [['~', '1', 'new']] })
        await hand.press(page, shown.getByRole('button', { name: 'Close' }).last())
        await run(page, `select note from ${name} where id = 1`)
        await facts(page, '1 row')
        await grid(page).focus()
        assert.equal(await active(page), 'old')
      }))

    test('an analyst draws a chart and reads why a statement is slow', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/sql?db=shop')
        await run(page, `select date_trunc('month', created_at) as month, sum(total) from orders group by 1 order by 1`)
        await facts(page, 'rows')
        await hand.press(page, page.getByRole('tab', { name: 'Chart' }))
        await page.getByText(/Line: sum by month\./).waitFor()
        await hand.press(page, page.getByText('Data table'))
        await page.getByRole('cell').first().waitFor()
        await hand.press(page, page.getByRole('tab', { name: 'Plan' }))
        await hand.press(page, page.getByRole('tabpanel').getByRole('button', { name: /Explain analyze/ }))
        await page.getByRole('rowheader', { name: /Seq Scan on orders/ }).waitFor()
      }))
  })
}
