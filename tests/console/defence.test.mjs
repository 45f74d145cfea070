import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { base, signIn, until, visit, withBrowser } from './browser.mjs'
import { nothingRan, watchScripts } from './hostile.mjs'

withBrowser()

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

test('the pages come with their policy', async () => {
  const page = await fetch(`${base}/console/`)
  assert.equal(page.headers.get('content-security-policy'), POLICY)
  assert.equal(page.headers.get('cross-origin-opener-policy'), 'same-origin')
  assert.equal(page.headers.get('cross-origin-resource-policy'), 'same-origin')
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
  assert.match(page.headers.get('permissions-policy') ?? '', /clipboard/)
  const html = await page.text()
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/)
})

// With and without the policy: the program itself makes no markup from texts.
for (const bypassPolicy of [false, true]) {
  describe(bypassPolicy ? 'without the policy' : 'with the policy', () => {
    test('rows, names and errors of a database stay texts in Tools', () =>
      visit({ bypassPolicy }, async (page) => {
        await watchScripts(page)
        await signIn(page, '/console/tools?open=tool%2Fquery_database')
        const query = page.getByLabel('query', { exact: true })
        const call = page.getByRole('button', { name: 'Call' })
        for (const sql of [
          'select id, left(text, 3000) as text from hostile.texts order by id',
          'select * from hostile."<img src=x onerror=alert(1)>"',
          `select hostile.fail('<img src=x onerror=alert(1)><script>alert(2)</script>')`,
          `select 1 as "<script>alert(1)</script>", E'\\u202E' as "\u202Ename"`,
        ]) {
          await query.fill(sql)
          await call.click()
          for (const view of ['Table', 'JSON', 'Text']) await page.getByRole('tab', { name: new RegExp(`^${view}`) }).click()
          await nothingRan(page)
        }
      }))

    test('notes, names, statements and records stay texts in Admin and Activity', () =>
      visit({ bypassPolicy }, async (page) => {
        await watchScripts(page)
        await signIn(page, '/console/admin?db=shop')
        const markup = `<img src=x onerror=alert(1)>\u202E${bypassPolicy}`
        await page.getByRole('button', { name: 'New token' }).click()
        await page.getByRole('dialog').getByLabel('Note').fill(markup)
        await page.getByRole('button', { name: 'Create token' }).click()
        await page.getByRole('button', { name: 'Done' }).click()
        await page.getByRole('rowheader', { name: 'U+202E' }).first().waitFor()
        await nothingRan(page)
        await page.goto(`${base}/console/admin?part=users`)
        await page.getByRole('button', { name: 'New user' }).click()
        await page.getByRole('dialog').getByLabel('Name').fill(`hostile_${bypassPolicy}`)
        await page.getByRole('dialog').getByLabel('Note').fill(`${markup}<script>alert(2)</script>`)
        await page.getByRole('checkbox', { name: 'All databases' }).check()
        await page.getByRole('button', { name: 'Create user' }).click()
        await page.getByRole('button', { name: 'Done' }).click()
        await page.getByText('<script>alert(2)</script>').first().waitFor()
        await nothingRan(page)
        await page.goto(`${base}/console/sql?db=shop#${encodeURIComponent(`select '<script>alert(3)</script>\u202E' as "<svg onload=alert(4)>"`)}`)
        await page.getByRole('button', { name: 'Run', exact: true }).click()
        await page.getByRole('status').filter({ hasText: '1 row' }).first().waitFor()
        await page.goto(`${base}/console/activity`)
        await page.getByText('<script>alert(3)</script>').first().click()
        await nothingRan(page)
        await page.goto(`${base}/console/activity?view=audit&q=${encodeURIComponent('<svg')}&caller=${encodeURIComponent('<img src=x onerror=alert(5)>')}`)
        await page.getByText(/No matches|records?/).first().waitFor()
        await nothingRan(page)
      }))

    test('addresses of the page stay texts', () =>
      visit({ bypassPolicy }, async (page) => {
        await watchScripts(page)
        const markup = encodeURIComponent('<img src=x onerror=alert(1)>')
        await signIn(page, `/console/tools?open=${markup}&db=${markup}&revision=${markup}#${markup}`)
        await page.getByText('Unknown database').waitFor()
        await nothingRan(page)
        await page.goto(`${base}/console/sign-in?to=javascript:alert(1)`)
        await page.getByRole('navigation', { name: 'Screens' }).waitFor()
        await nothingRan(page)
      }))
  })
}

test('a way back to another site is not followed', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/sign-in?to=https%3A%2F%2F198.51.100.1%2F')
    await until(() => new URL(page.url()).pathname.startsWith('/console/'), 'the start of the console')
    assert.equal(new URL(page.url()).origin, new URL(base).origin)
  }))

test('the API reference shows the document of this server, whatever the address says', () =>
  visit({}, async (page) => {
    const asked = []
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(`${base}/docs?url=https://198.51.100.1/x.json&configUrl=https://198.51.100.1/c.json`)
    await page.getByText('/api/databases', { exact: true }).first().waitFor()
    assert.ok(asked.every((url) => url.startsWith(`${base}/`) || url.startsWith('data:')))
    await page.getByText('Licences').click()
    await page.getByText(/swagger-ui-dist .*Apache-2\.0/).waitFor()
  }))
