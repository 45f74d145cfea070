import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { base, password, signIn, token, until, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer } from './hands.mjs'

withBrowser()

const screens = (page) => page.getByRole('navigation', { name: 'Screens' })

for (const hand of [pointer, keyboard]) {
  describe(`by ${hand.name}`, () => {
    test('a user signs in, sees the database and what may be done to it, and signs out', () =>
      visit({}, async (page) => {
        await page.goto(`${base}/console/`)
        await hand.fill(page, page.getByLabel('Name'), 'alice')
        await hand.fill(page, page.getByLabel('Password'), password)
        await hand.press(page, page.getByRole('button', { name: 'Sign in' }))
        await screens(page).waitFor()
        await page.getByRole('button', { name: 'Database: shop' }).waitFor()
        await page.getByText('read only', { exact: true }).waitFor()
        assert.equal(new URL(page.url()).searchParams.get('db'), 'shop')
        await hand.press(page, page.getByRole('button', { name: 'Account: alice' }))
        await hand.press(page, page.getByRole('menuitem', { name: 'Sign out' }))
        await page.getByRole('button', { name: 'Sign in' }).waitFor()
        assert.equal(await page.evaluate(() => localStorage.getItem('ziggurat-console-key')), null)
      }))

    test('a wrong password is said beside the form, and the right one then lets in', () =>
      visit({}, async (page) => {
        await page.goto(`${base}/console/`)
        await hand.fill(page, page.getByLabel('Name'), 'bob')
        await hand.fill(page, page.getByLabel('Password'), 'not this one')
        await hand.press(page, page.getByRole('button', { name: 'Sign in' }))
        // The focus is on the message.
        await page.locator(':focus').getByRole('alert').waitFor()
        assert.equal(await page.getByLabel('Password').inputValue(), '')
        await hand.fill(page, page.getByLabel('Password'), password)
        await hand.press(page, page.getByRole('button', { name: 'Sign in' }))
        await screens(page).waitFor()
      }))

    test('an API token opens the database that it is for, and does not stay in the browser', () =>
      visit({}, async (page, context) => {
        await page.goto(`${base}/console/`)
        await hand.press(page, page.getByRole('tab', { name: 'API token' }))
        await hand.fill(page, page.getByRole('textbox', { name: 'API token' }), token)
        await hand.press(page, page.getByRole('button', { name: 'Sign in' }))
        await page.getByRole('button', { name: 'Database: shop' }).waitFor()
        const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))
        const cookies = JSON.stringify(await context.cookies())
        assert.ok(!kept.includes(token) && !cookies.includes(token))
      }))

    test('the database of a tab is in its address, and Back returns to the one before', () =>
      visit({}, async (page) => {
        await signIn(page)
        await hand.press(page, page.getByRole('button', { name: 'Database: shop' }))
        await hand.press(page, page.getByRole('menuitemradio', { name: /workshop/ }))
        await page.getByText('may write', { exact: true }).waitFor()
        assert.equal(new URL(page.url()).searchParams.get('db'), 'workshop')
        await page.goBack()
        await page.getByText('read only', { exact: true }).waitFor()
        await page.reload()
        await page.getByRole('button', { name: 'Database: shop' }).waitFor()
      }))

    test('the palette finds a theme, which stays after a reload and is painted at once', () =>
      visit({}, async (page) => {
        await signIn(page)
        if (hand === pointer) await hand.press(page, page.getByRole('button', { name: /Search or jump/ }))
        else await page.keyboard.press('Control+k')
        await page.getByRole('combobox', { name: 'Command palette' }).fill('dark')
        if (hand === pointer) await page.getByRole('option', { name: 'Theme: Dark' }).click()
        else await page.keyboard.press('Enter')
        await until(() => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor === 'rgb(18, 20, 26)'), 'the dark theme')
        await page.goto(`${base}/console/`, { waitUntil: 'commit' })
        await page.locator('#console').waitFor({ state: 'attached' })
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
      }))

    test('a session that has ended is renewed over the work, which loses nothing', () =>
      visit({}, async (page, context) => {
        await signIn(page, '/console/tools?open=tool%2Fquery_database')
        const query = page.getByLabel('query', { exact: true })
        await hand.fill(page, query, 'select 41 + 1 as answer')
        await context.clearCookies()
        await hand.press(page, page.getByRole('button', { name: 'Call' }))
        const dialog = page.getByRole('dialog', { name: 'Session expired' })
        assert.equal(await dialog.getByLabel('Name').inputValue(), 'alice')
        await hand.fill(page, dialog.getByLabel('Password'), password)
        await hand.press(page, dialog.getByRole('button', { name: 'Sign in' }))
        await page.getByRole('cell', { name: '42', exact: true }).waitFor()
        assert.equal(await query.inputValue(), 'select 41 + 1 as answer')
      }))
  })
}

test('signing out in one tab ends the other', () =>
  visit({}, async (page, context) => {
    await signIn(page)
    const other = await context.newPage()
    await other.goto(`${base}/console/`)
    await screens(other).waitFor()
    await page.getByRole('button', { name: 'Account: alice' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await other.getByRole('button', { name: 'Sign in' }).waitFor()
  }))

test('a link is followed after signing in, with the text behind # untouched and unsent', () =>
  visit({}, async (page) => {
    const asked = []
    page.on('request', (request) => asked.push(request.url()))
    await signIn(page, '/console/tools?open=tool%2Fquery_database#select%20secret')
    const url = new URL(page.url())
    assert.equal(url.pathname, '/console/tools')
    assert.equal(url.searchParams.get('open'), 'tool/query_database')
    assert.equal(url.hash, '#select%20secret')
    assert.ok(asked.every((address) => !new URL(address).search.includes('secret')))
  }))

test('F6 goes from region to region, and the skip link to the content', () =>
  visit({}, async (page) => {
    await signIn(page)
    const region = () => page.evaluate(() => document.activeElement?.closest('header, nav, main')?.tagName)
    const seen = new Set()
    for (let step = 0; step < 4; step += 1) {
      await page.keyboard.press('F6')
      seen.add(await region())
    }
    assert.ok(['HEADER', 'NAV', 'MAIN'].every((name) => seen.has(name)), [...seen].join())
    await page.reload()
    await screens(page).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'content')
  }))

test('the server that is gone is said, and drafts are there when it is back', () =>
  visit({}, async (page, context) => {
    await signIn(page, '/console/tools?open=tool%2Fquery_database')
    const query = page.getByLabel('query', { exact: true })
    await query.fill('select 7')
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Call' }).click()
    await page.getByText('Not connected').waitFor()
    await context.setOffline(false)
    await page.getByRole('button', { name: 'Try again' }).first().click()
    await page.getByText('Not connected').waitFor({ state: 'detached' })
    assert.equal(await query.inputValue(), 'select 7')
  }).catch((error) => {
    // The browser itself reports that it is offline; all else is a failure.
    const said = String(error.message)
    if (!/ERR_INTERNET_DISCONNECTED/.test(said) || /page error|dialog|request:/.test(said)) throw error
  }))
