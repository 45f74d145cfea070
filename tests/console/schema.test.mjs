import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { base, signIn, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer } from './hands.mjs'

withBrowser()

const tree = (page) => page.getByRole('tree', { name: 'Tables' })

/** Opens a table of the tree, by its line or by letters. */
async function open(page, hand, name) {
  if (hand === pointer) return tree(page).getByRole('treeitem', { name }).first().click()
  await tree(page).focus()
  await page.keyboard.press('Home')
  const lines = await tree(page).getByRole('treeitem').allInnerTexts()
  const at = lines.findIndex((line) => line.split('\n')[0].trim() === name)
  for (let step = 0; step < at; step += 1) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
}

for (const hand of [pointer, keyboard]) {
  describe(`by ${hand.name}`, () => {
    test('an analyst finds a table, follows a key and queries it', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/schema?db=shop')
        await hand.fill(page, page.getByRole('searchbox'), 'orders')
        await open(page, hand, 'orders')
        await page.getByRole('heading', { name: 'public.orders' }).waitFor()
        await page.getByRole('row', { name: /created_at/ }).waitFor()
        await hand.press(page, page.getByRole('link', { name: 'customers.id' }))
        await page.getByRole('heading', { name: 'public.customers' }).waitFor()
        await page.getByText('Who has bought something.').waitFor()
        await hand.press(page, page.getByRole('tab', { name: /Columns/ }))
        await hand.press(page, page.getByRole('button', { name: 'Query' }))
        await page.getByRole('textbox', { name: 'SQL', exact: true }).getByText('from customers').waitFor()
      }))

    test('an analyst sees keys, indexes, first rows, text and relations of a table', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/schema?db=shop&schema=public&table=orders')
        await page.getByRole('heading', { name: 'public.orders' }).waitFor()
        await hand.press(page, page.getByRole('tab', { name: 'Constraints' }))
        await page.getByRole('link', { name: 'order_items.order_id' }).waitFor()
        await hand.press(page, page.getByRole('tab', { name: /Indexes/ }))
        await page.getByRole('rowheader', { name: 'orders_pkey' }).waitFor()
        await hand.press(page, page.getByRole('tab', { name: 'Sample' }))
        await page.getByRole('grid', { name: 'Sample' }).waitFor()
        await hand.press(page, page.getByRole('tab', { name: 'DDL' }))
        await page.getByText('CREATE TABLE orders').waitFor()
        await hand.press(page, page.getByRole('tab', { name: 'Diagram' }))
        await page.getByRole('img', { name: /^Diagram of \d+ tables/ }).waitFor()
        await hand.press(page, page.getByText(/^List of/))
        await page.getByRole('link', { name: 'order_items.order_id' }).waitFor()
      }))
  })
}

test('a table shows its labels, constraints, policies, triggers and partitions, and a view its query', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/schema?db=shop&schema=sales&table=invoices')
    await page.getByRole('row', { name: /'open', 'paid', 'sent, partly'/ }).waitFor()
    await page.getByRole('tab', { name: 'Constraints' }).click()
    await page.getByRole('listitem').filter({ hasText: 'has_amount' }).waitFor()
    await page.getByRole('tab', { name: 'Policies and triggers' }).click()
    await page.getByRole('listitem').filter({ hasText: 'own_invoices: SELECT to PUBLIC' }).waitFor()
    await page.getByRole('listitem').filter({ hasText: 'stamped' }).waitFor()
    await page.goto(`${base}/console/schema?db=shop&schema=sales&table=days&view=rules`)
    await page.getByText('1 by range (day)').waitFor()
    await page.goto(`${base}/console/schema?db=shop&schema=sales&table=unpaid&view=text`)
    await page.getByText('CREATE VIEW sales.unpaid AS').waitFor()
  }))

test('the diagram has all schemas, or one with its neighbours in grey', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/schema?db=shop')
    const names = (boxes) => page.locator(`.diagram-box${boxes} .diagram-title`).allTextContents()
    await page.getByRole('img', { name: /^Diagram of 5 tables and 4 foreign keys/ }).waitFor()
    assert.deepEqual(await names('.is-faint'), [])
    await page.getByText(/^Not shown: \d+ tables without foreign keys/).waitFor()
    await page.getByRole('combobox', { name: 'Schema' }).selectOption('sales')
    await page.getByRole('img', { name: /^Diagram of 2 tables and 1 foreign key\b/ }).waitFor()
    assert.deepEqual(await names('.is-faint'), ['orders'])
    assert.deepEqual((await names('')).sort(), ['orders', 'sales.invoices'])
  }))

test('the diagram is moved and magnified by keys and buttons', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/schema?db=shop&schema=public&table=orders&view=relations')
    const diagram = page.getByRole('img', { name: /^Diagram of/ })
    const place = () => diagram.locator('svg > g').getAttribute('transform')
    await diagram.focus()
    const first = await place()
    await page.keyboard.press('ArrowRight')
    const moved = await place()
    assert.notEqual(moved, first)
    await page.getByRole('button', { name: 'Zoom out' }).click()
    assert.notEqual(await place(), moved)
    await page.getByRole('button', { name: 'Fit to window' }).click()
    assert.equal(await place(), first)
  }))

test('an address opens its table again, and Back returns to the one before', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/schema?db=shop&schema=public&table=orders')
    await page.getByRole('link', { name: 'customers.id' }).click()
    await page.getByRole('heading', { name: 'public.customers' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'public.customers' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'public.orders' }).waitFor()
    await page.goto(`${base}/console/schema?db=shop&schema=public&table=nowhere`)
    await page.getByText('Table not found').waitFor()
  }))

test('names and comments of a hostile table stay texts', () =>
  visit({}, async (page) => {
    const query = new URLSearchParams({ db: 'shop', schema: 'hostile', table: '<img src=x onerror=alert(1)>' })
    await signIn(page, `/console/schema?${query}`)
    await page.getByRole('heading', { name: /<img src=x onerror=alert\(1\)>/ }).waitFor()
    for (const view of ['Constraints', 'Indexes', 'Policies and triggers', 'Sample', 'DDL', 'Diagram']) {
      await page.getByRole('tab', { name: new RegExp(view) }).click()
    }
    await page.goto(`${base}/console/schema?db=shop`)
    await tree(page).waitFor()
  }))

test('on a telephone the tables are a drawer and the relations a list', () =>
  visit({ width: 360, height: 780, touch: true }, async (page) => {
    await signIn(page, '/console/schema?db=shop')
    await page.getByRole('button', { name: 'Tables' }).tap()
    const drawer = page.getByRole('dialog', { name: 'Tables' })
    await drawer.getByRole('treeitem', { name: 'orders' }).tap()
    await drawer.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Diagram' }).tap()
    await page.getByRole('link', { name: 'order_items.order_id' }).waitFor()
    const over = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)
    assert.ok(over <= 0, `${over} pixels too wide`)
  }))
