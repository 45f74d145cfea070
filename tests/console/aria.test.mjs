// What a screen reader is told of Ask, of the grid and of a plan: the files in the folder `aria`.
// `CONSOLE_BLESS=1` writes them anew; read what has changed before it is committed.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { signIn, until, visit, withBrowser } from './browser.mjs'
import { facts, run, write } from './sql-page.mjs'

withBrowser()

/** Compares a part of the page with a file, but for numbers that differ from run to run. */
async function assertTold(target, name) {
  const told = async () => {
    const all = `${await target.ariaSnapshot()}\n`
    return all.replace(/[\d,.]+ (?:ms|s)\b/g, '# of time').replace(/[\d,.]+ (tokens|rows|estimated)\b/g, '# $1')
  }
  const file = new URL(`aria/${name}.yml`, import.meta.url)
  if (process.env.CONSOLE_BLESS) writeFileSync(file, await told())
  const expected = readFileSync(file, 'utf8')
  // The page may still be drawing.
  await until(async () => (await told()) === expected, 'what was told before').catch(() => {})
  assert.equal(await told(), expected)
}

test('an answer with its steps is told as before', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/ask?db=shop')
    await page.getByRole('textbox', { name: 'Question' }).fill('Which category earned most?')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Ask again' }).waitFor()
    await assertTold(page.getByRole('article'), 'ask')
  }))

test('a grid is told as before', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await run(page, 'select id, name, null as nothing from customers order by id limit 3')
    await facts(page, '3 rows')
    await page.getByRole('gridcell', { name: 'Customer 3' }).waitFor()
    await assertTold(page.getByRole('grid', { name: 'Rows' }), 'grid')
  }))

test('a plan is told as before', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    await write(page, 'select city, count(*) from customers group by city order by city')
    await page.getByRole('button', { name: 'Explain', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Explain', exact: true }).click()
    await page.getByRole('rowheader', { name: /Seq Scan on customers/ }).waitFor()
    await assertTold(page.getByRole('table', { name: 'Plan nodes' }), 'plan')
  }))
