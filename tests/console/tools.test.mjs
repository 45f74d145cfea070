import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { base, signIn, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer } from './hands.mjs'

withBrowser()

const at = (item) => `/console/tools?open=${encodeURIComponent(item)}`

async function called(page) {
  return JSON.parse(await page.getByRole('region', { name: 'Response', exact: true }).locator('code').first().innerText())
}

for (const hand of [pointer, keyboard]) {
  describe(`by ${hand.name}`, () => {
    test('a developer finds a tool, calls it, and sees the table and the exchange', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/tools')
        await hand.fill(page, page.getByRole('searchbox', { name: 'Filter' }), 'query_d')
        await hand.press(page, page.getByRole('link', { name: 'query_database' }))
        await hand.fill(page, page.getByLabel('query', { exact: true }), 'select id, total from orders order by id')
        await hand.press(page, page.getByRole('button', { name: 'Call' }))
        await page.getByRole('columnheader', { name: 'total' }).waitFor()
        await hand.press(page, page.getByRole('tab', { name: 'JSON' }))
        const { result } = await called(page)
        assert.equal(result.resultType, 'complete')
        const sent = page.locator('.exchange-headers').first()
        await hand.press(page, sent.locator('summary'))
        await sent.getByText('Bearer <token>').waitFor()
        assert.equal(await sent.getByText('Ziggurat-Console').count(), 0)
      }))

    test('a developer takes a client configuration away', () =>
      visit({}, async (page) => {
        await signIn(page, at('tool/query_database'))
        await hand.press(page, page.getByText('Connect a client'))
        await hand.press(page, page.getByRole('tab', { name: 'Claude Code' }))
        await hand.press(page, page.getByRole('tabpanel').getByRole('button', { name: 'Copy' }))
        await page.getByText('Copied').waitFor()
        // The policy lets pages write to the clipboard and not read it; a person can paste.
        const filter = page.getByRole('searchbox', { name: 'Filter' })
        await filter.focus()
        await page.keyboard.press('Control+v')
        assert.match(await filter.inputValue(), /^claude mcp add --transport http ziggurat 'http:\/\/localhost:\d+\/mcp' --header/)
      }))

    test('a write that the server asks about runs only when it is confirmed', () =>
      visit({}, async (page) => {
        await signIn(page, `${at('tool/query_database')}&db=workshop`)
        const name = `made_by_${hand.name}`
        await hand.fill(page, page.getByLabel('query', { exact: true }), `create table ${name} (id int)`)
        await hand.press(page, page.getByRole('button', { name: 'Call' }))
        const asked = page.getByRole('group', { name: 'The server asks for input' })
        await hand.press(page, asked.getByRole('button', { name: 'Decline' }))
        await asked.waitFor({ state: 'detached' })
        await hand.fill(page, page.getByLabel('query', { exact: true }), `select to_regclass('${name}') is null as missing`)
        await hand.press(page, page.getByRole('button', { name: 'Call' }))
        await page.getByRole('cell', { name: 'true' }).waitFor()
      }))
  })
}

test('each revision lists its tools and answers a call', () =>
  visit({}, async (page) => {
    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']) {
      const path = `${at('tool/query_database')}&revision=${revision}`
      if (revision === '2024-11-05') await signIn(page, path)
      else await page.goto(base + path)
      await page.getByLabel('query', { exact: true }).fill('select 6 * 7 as answer')
      await page.getByRole('button', { name: 'Call' }).click()
      await page.getByRole('cell', { name: '42', exact: true }).or(page.getByText('42')).first().waitFor()
      assert.ok((await called(page)).result, revision)
    }
  }))

test('resources and prompts are read like tools', () =>
  visit({}, async (page) => {
    await signIn(page, at('resource/pg://system_info'))
    await page.getByRole('button', { name: 'Read' }).click()
    await page.getByText(/PostgreSQL/).first().waitFor()
    assert.ok((await called(page)).result.contents.length)
  }))

test('a failure of the statement is said in the words of the server', () =>
  visit({}, async (page) => {
    await signIn(page, at('tool/query_database'))
    await page.getByLabel('query', { exact: true }).fill('select * from nowhere')
    await page.getByRole('button', { name: 'Call' }).click()
    await page.getByText('The tool returned an error').waitFor()
    await page.getByText(/nowhere/).first().waitFor()
  }))
