import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base, password, signIn, visit, withBrowser } from './browser.mjs'

withBrowser()

const telephone = { width: 360, height: 780, touch: true }

test('a user signs in on a telephone and chooses a database', () =>
  visit(telephone, async (page) => {
    await page.goto(`${base}/console/`)
    await page.getByLabel('Name').fill('alice')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).tap()
    await page.getByRole('button', { name: 'Database: shop' }).tap()
    await page.getByRole('menuitemradio', { name: /workshop/ }).tap()
    await page.getByRole('button', { name: 'Database: workshop' }).waitFor()
  }))

test('a developer calls a tool on a telephone: the list is a drawer', () =>
  visit(telephone, async (page) => {
    await signIn(page, '/console/tools')
    await page.getByRole('button', { name: 'List' }).tap()
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('link', { name: 'query_database' }).tap()
    await drawer.waitFor({ state: 'detached' })
    await page.getByLabel('query', { exact: true }).fill('select 40 + 2 as answer')
    await page.getByRole('button', { name: 'Call' }).tap()
    await page.getByRole('cell', { name: '42', exact: true }).waitFor()
    const over = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)
    assert.ok(over <= 0, `${over} pixels too wide`)
  }))

test('an operator cancels a statement on a telephone', () =>
  visit(telephone, async (page, context) => {
    await signIn(page, '/console/activity')
    const other = await context.newPage()
    await other.goto(`${base}/console/sql?db=shop#${encodeURIComponent("select 'by touch', pg_sleep(20)")}`)
    await other.getByRole('button', { name: 'Run', exact: true }).tap()
    await page.bringToFront()
    const line = page.getByRole('list', { name: 'Running now' }).getByRole('listitem').filter({ hasText: 'by touch' })
    await line.getByRole('button', { name: /^Cancel / }).tap()
    await page.getByText('Cancelling the statement').waitFor()
    const over = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)
    assert.ok(over <= 0, `${over} pixels too wide`)
  }))

test('with many tabs the current one is in sight, and nothing needs scrolling sideways', () =>
  visit(telephone, async (page) => {
    await signIn(page, '/console/sql?db=shop')
    for (let tab = 0; tab < 6; tab += 1) await page.getByRole('button', { name: 'New tab' }).tap()
    const current = page.getByRole('tablist', { name: 'Query tabs' }).getByRole('tab', { selected: true })
    const { x, width } = await current.boundingBox()
    assert.ok(x >= 0 && x + width <= telephone.width, `from ${x} to ${x + width}`)
    const over = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)
    assert.ok(over <= 0, `${over} pixels too wide`)
  }))
