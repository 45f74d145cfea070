import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { signIn, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer } from './hands.mjs'

withBrowser()

for (const hand of [pointer, keyboard]) {
  describe(`by ${hand.name}`, () => {
    test('an analyst searches a table by meaning, and sees the words that matched', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/search?db=shop')
        await page.getByRole('combobox', { name: 'Table' }).waitFor()
        await hand.fill(page, page.getByRole('searchbox', { name: 'Question' }), 'Does copper tape keep slugs from the lettuce?')
        await page.keyboard.press('Enter')
        const first = page.locator('.passage').first()
        await first.or(page.getByRole('alert')).waitFor()
        assert.match(await page.locator('.search-screen').innerText(), /Copper tape around a bed/)
        const found = page.locator('.passage', { hasText: 'Copper tape around a bed' })
        assert.match((await found.first().locator('mark').allTextContents()).join(' '), /slugs/)
        // Passages are texts of the table, whatever they want to be.
        assert.equal(await page.locator('#console :is(img, script)').count(), 0)
      }))
  })
}
