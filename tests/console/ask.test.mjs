import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { base, signIn, until, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer } from './hands.mjs'
import { changedSides } from './sql-page.mjs'

withBrowser()

const question = (page) => page.getByRole('textbox', { name: 'Question' })

for (const hand of [pointer, keyboard]) {
  describe(`by ${hand.name}`, () => {
    test('an analyst asks, sees the statement behind the answer, changes it, and finds the conversation again', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/ask?db=shop')
        await hand.fill(page, question(page), `Which category earned most? (${hand.name})`)
        await hand.press(page, page.getByRole('button', { name: 'Send' }))
        await page.getByText('earned most.', { exact: true }).waitFor()
        await page.getByText('Ran query_database in shop').waitFor()
        await page.getByRole('columnheader', { name: 'revenue' }).waitFor()
        await hand.press(page, page.getByRole('button', { name: 'Edit' }))
        await hand.fill(page, page.getByLabel('Statement', { exact: true }).last(), 'select 6 * 7 as revenue')
        await hand.press(page, page.getByRole('button', { name: 'Run', exact: true }))
        await page.getByText('edited by alice').waitFor()
        await page.getByRole('cell', { name: '42', exact: true }).waitFor()
        await until(() => new URL(page.url()).searchParams.has('open'), 'a kept conversation')
        await page.reload()
        await page.getByText('edited by alice').waitFor()
        await page.getByRole('link', { name: new RegExp(hand.name) }).waitFor()
        await hand.fill(page, page.getByRole('searchbox', { name: 'Filter' }), 'words of no conversation')
        await page.getByText('No matches.').waitFor()
        await hand.fill(page, page.getByRole('searchbox', { name: 'Filter' }), `earned ${hand.name}`)
        await page.getByRole('link', { name: new RegExp(hand.name) }).waitFor()
      }))

    test('an analyst sees the rows of a step as a chart, and a number of the answer in its cell', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/ask?db=shop')
        await hand.fill(page, question(page), 'Which category earned most?')
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: 'Ask again' }).waitFor()
        const views = page.getByRole('group', { name: 'Show result as' })
        await hand.press(page, views.getByRole('button', { name: 'Bar' }))
        await page.getByText('Bar: revenue by category.').waitFor()
        await hand.press(page, page.getByRole('button', { name: /, shown in its result$/ }).first())
        await until(() => page.evaluate(() => document.activeElement?.localName === 'td'), 'the focus in the cell')
        assert.equal(await views.getByRole('button', { name: 'Table' }).getAttribute('aria-pressed'), 'true')
      }))

    test('a prompt of the server is put into the field and not sent', () =>
      visit({}, async (page) => {
        const asked = []
        page.on('request', (request) => asked.push(request.url()))
        await signIn(page, '/console/ask?db=shop')
        const prompts = page.getByRole('dialog', { name: 'Prompts' })
        await hand.press(page, page.getByRole('button', { name: 'Prompts' }))
        await hand.press(page, prompts.getByRole('button', { name: /^Explore a database/ }))
        await hand.press(page, prompts.getByRole('button', { name: 'Insert' }))
        await until(async () => (await question(page).inputValue()).length > 100, 'the text of the prompt')
        assert.ok(!asked.some((url) => url.includes('/api/llm/chat')))
      }))

    test('a write that a model wants waits, with the focus on not running it', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/ask?db=workshop')
        await hand.fill(page, question(page), 'Please write a new name')
        await page.keyboard.press('Enter')
        const dialog = page.getByRole('dialog', { name: 'This statement would change 1 row' })
        await dialog.getByText("update products set name = 'changed' where id = 1").waitFor()
        const sides = await changedSides(dialog)
        assert.deepEqual(sides, { Before: [['~', '1', 'Product 1']], After: [['~', '1', 'changed']] })
        assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Do not commit')
        await page.keyboard.press('Enter')
        await page.getByText('declined', { exact: true }).waitFor()
        await page.goto(`${base}/console/tools?open=tool%2Fquery_database&db=workshop`)
        await page.getByLabel('query', { exact: true }).fill("select count(*) from products where name = 'changed'")
        await page.getByRole('button', { name: 'Call' }).click()
        await page.getByRole('cell', { name: '0', exact: true }).waitFor()
      }))
  })
}

for (const bypassPolicy of [false, true]) {
  test(`what a model writes from hostile rows loads and runs nothing, ${bypassPolicy ? 'without' : 'with'} the policy`, () =>
    visit({ bypassPolicy }, async (page) => {
      await signIn(page, '/console/ask?db=shop')
      await question(page).fill('Please inject')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Ask again' }).waitFor()
      assert.equal(await page.locator('#console :is(img, script, iframe, a[href^="https:"], a[href^="javascript:"])').count(), 0)
      await page.getByRole('button', { name: /click/ }).click()
      const dialog = page.getByRole('dialog', { name: 'Open link' })
      await dialog.getByText('https://198.51.100.1/leak?rows=1').waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'detached' })
    }))
}

test('a question behind # fills the field and is not sent', () =>
  visit({}, async (page) => {
    const asked = []
    page.on('request', (request) => asked.push(request.url()))
    await signIn(page, '/console/ask?db=shop#Which%20one%3F')
    await until(async () => (await question(page).inputValue()) === 'Which one?', 'the question in the field')
    assert.ok(!asked.some((url) => url.includes('/api/llm/chat')))
    assert.equal(new URL(page.url()).hash, '')
  }))
