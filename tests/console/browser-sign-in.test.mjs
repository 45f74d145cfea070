// The way into the console over the pages of the sign-in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, password, signInBase, visit, withBrowser } from './browser.mjs'

withBrowser()

const on = (page) => page.getByRole('button', { name: 'Continue in the browser sign-in' })
const screens = (page) => page.getByRole('navigation', { name: 'Screens' })

/** Fills in the page of the sign-in. */
async function signIn(page, user) {
  await page.waitForURL(`${signInBase}/oauth/authorize?**`)
  await page.getByLabel('Name').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
}

test('a person enters with the browser sign-in, without a consent, and is back at the place', async () => {
  await visit({}, async (page) => {
    await page.goto(`${signInBase}/console/tools?db=workshop#some%20text`)
    await on(page).click()
    await signIn(page, 'dora')
    await screens(page).waitFor()
    const { pathname, search, hash } = new URL(page.url())
    assert.deepEqual([pathname, search], ['/console/tools', '?db=workshop'])
    assert.equal(decodeURIComponent(hash), '#some text')
    assert.equal(await page.evaluate(() => sessionStorage.length), 0)
    // Signing out leaves the session of the pages as it is: the way back needs no password.
    await page.getByRole('button', { name: 'Account: dora' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await on(page).click()
    await screens(page).waitFor()
  })
})

test('a code that this tab did not ask for opens nothing, and the form says so', async () => {
  await visit({ bypassPolicy: true }, async (page) => {
    await page.goto(`${signInBase}/console/sign-in?code=zac_foreign&state=x&iss=${encodeURIComponent(signInBase)}`)
    await page.getByText('This tab has not begun this sign-in. Start it again.').waitFor()
    assert.equal(new URL(page.url()).search, '')
    await assertAccessible(page, 'the form with the browser sign-in')
  })
})

test('a session ends with its grant, which an administrator ends', async () => {
  await visit({}, async (page, context) => {
    await page.goto(`${signInBase}/console/sign-in`)
    await on(page).click()
    await signIn(page, 'emil')
    await screens(page).waitFor()
    const other = await context.browser().newContext()
    try {
      const admin = await other.newPage()
      await admin.goto(`${signInBase}/console/admin?part=users`)
      await on(admin).click()
      await signIn(admin, 'dora')
      await admin.getByRole('button', { name: 'Actions for emil' }).click()
      await admin.getByRole('menuitem', { name: 'Grants…' }).click()
      await admin.getByRole('button', { name: 'End This console' }).click()
      await admin.getByRole('button', { name: 'End grant' }).click()
      await admin.getByText('No program has a grant of this user.').waitFor()
    } finally {
      await other.close()
    }
    await page.getByRole('link', { name: 'Schema' }).click()
    await page.getByRole('dialog', { name: 'Session expired' }).waitFor()
  })
})
