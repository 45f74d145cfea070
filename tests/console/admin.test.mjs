import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { base, password, signIn, until, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer } from './hands.mjs'

withBrowser()

const shownOnce = (page) => page.getByRole('dialog', { name: /^(Token created|New password)$/ })
const kept = (page) => page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, (await indexedDB.databases()).map(({ name }) => name)]))

async function works(token) {
  const answer = await fetch(`${base}/api/databases`, { headers: { Authorization: `Bearer ${token}` } })
  return answer.status === 200
}

for (const hand of [pointer, keyboard]) {
  describe(`by ${hand.name}`, () => {
    test('an administrator makes a token, takes it away once, and withdraws it', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/admin?db=shop')
        const note = `made by ${hand.name}`
        await hand.press(page, page.getByRole('button', { name: 'New token' }).first())
        await hand.fill(page, page.getByRole('dialog').getByLabel('Note'), note)
        assert.equal(await page.getByLabel('Expires after').inputValue(), '90d')
        await hand.press(page, page.getByRole('button', { name: 'Create token' }))
        const token = (await shownOnce(page).getByRole('region', { name: 'Token' }).innerText()).trim()
        await until(() => works(token), 'the token works')
        await hand.press(page, shownOnce(page).getByRole('button', { name: 'Copy' }).first())
        // The confirmation is over the dialog, where it can be seen and heard.
        await shownOnce(page).getByRole('status').getByText('Copied').click({ trial: true })
        await hand.press(page, shownOnce(page).getByRole('tab', { name: 'VS Code' }))
        assert.equal(JSON.parse(await shownOnce(page).getByRole('region', { name: 'VS Code' }).innerText()).servers.ziggurat.headers.Authorization, `Bearer ${token}`)
        await page.keyboard.press('Escape')
        await page.keyboard.press('Escape')
        await shownOnce(page).waitFor()
        await hand.press(page, shownOnce(page).getByRole('button', { name: 'Done' }))
        await shownOnce(page).waitFor({ state: 'detached' })
        assert.ok(!(await page.content()).includes(token) && !(await kept(page)).includes(token))
        await page.getByRole('row', { name: new RegExp(`${note} .* in 90 days`) }).waitFor()
        await hand.press(page, page.getByRole('button', { name: `Revoke ${note}` }))
        await hand.press(page, page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }))
        await page.getByRole('rowheader', { name: note }).waitFor({ state: 'detached' })
        await until(async () => !(await works(token)), 'the token is revoked')
      }))

    test('an administrator makes a user, who signs in with the password shown once, and deletes it by its name', () =>
      visit({}, async (page, context) => {
        await signIn(page, '/console/admin?part=users')
        const name = `of_${hand.name}`
        await hand.press(page, page.getByRole('button', { name: 'New user' }))
        await hand.fill(page, page.getByRole('dialog').getByLabel('Name'), name)
        await hand.press(page, page.getByRole('button', { name: 'Create user' }))
        await page.getByText('Choose databases, or all of them.').waitFor()
        await page.getByRole('checkbox', { name: 'All databases' }).press('Space')
        await hand.press(page, page.getByRole('button', { name: 'Create user' }))
        const secret = (await shownOnce(page).getByRole('region', { name: 'Password' }).innerText()).trim()
        await hand.press(page, shownOnce(page).getByRole('button', { name: 'Done' }))
        assert.ok(!(await page.content()).includes(secret) && !(await kept(page)).includes(secret))
        await until(() => signsIn(context, name, secret), 'the user can sign in')
        await hand.press(page, page.getByRole('button', { name: `Actions for ${name}` }))
        await hand.press(page, page.getByRole('menuitem', { name: 'Disable…' }))
        await hand.press(page, page.getByRole('dialog').getByRole('button', { name: 'Disable' }))
        await page.getByRole('row', { name: new RegExp(`${name} disabled`) }).waitFor()
        await until(async () => !(await signsIn(context, name, secret)), 'the user cannot sign in')
        await hand.press(page, page.getByRole('button', { name: `Actions for ${name}` }))
        await hand.press(page, page.getByRole('menuitem', { name: 'Delete…' }))
        const remove = page.getByRole('button', { name: 'Delete user' })
        assert.ok(await remove.isDisabled())
        await hand.fill(page, page.getByRole('dialog').getByLabel('Name'), name)
        await hand.press(page, remove)
        await page.getByRole('rowheader', { name }).waitFor({ state: 'detached' })
      }))

    test('an administrator tests a database and reads what its role may do', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/admin?part=databases')
        await hand.press(page, page.getByRole('button', { name: 'Test shop' }))
        const card = page.getByRole('listitem', { name: 'shop' })
        await card.getByText(/^Connected in/).waitFor()
        await card.getByText('superuser', { exact: true }).waitFor()
      }))

    test('an administrator finds a key of the configuration and reads the file again', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/admin?part=configuration')
        await hand.fill(page, page.getByRole('searchbox', { name: 'Filter' }), 'llm.model')
        await page.getByRole('row', { name: /llm\.model claude-script file/ }).waitFor()
        assert.equal(await page.getByText(/a password of many words|anthropic_api_key none/).count(), 0)
        await hand.press(page, page.getByRole('button', { name: 'Reload' }))
        await hand.press(page, page.getByRole('dialog').getByRole('button', { name: 'Reload' }))
        await page.getByText('Configuration reloaded').waitFor()
      }))

    test('a change that needs a recent sign-in is made after it, once', () =>
      visit({}, async (page) => {
        const changes = []
        await page.route('**/api/admin/tokens', (route) => {
          if (route.request().method() !== 'POST') return route.continue()
          changes.push(route.request().postDataJSON().note)
          return changes.length === 1 ? route.fulfill({ status: 403, json: { error: 'Sign in again to do this', code: 'sign_in_again' } }) : route.continue()
        })
        await signIn(page, '/console/admin')
        const note = `again by ${hand.name}`
        await hand.press(page, page.getByRole('button', { name: 'New token' }).first())
        await hand.fill(page, page.getByRole('dialog').getByLabel('Note'), note)
        await hand.press(page, page.getByRole('button', { name: 'Create token' }))
        const dialog = page.getByRole('dialog', { name: 'Sign in again' })
        await dialog.getByText(`The token “${note}” will be created.`).waitFor()
        assert.deepEqual(changes, [note])
        assert.equal(await dialog.getByLabel('Name').inputValue(), 'alice')
        await hand.fill(page, dialog.getByLabel('Password'), password)
        await hand.press(page, dialog.getByRole('button', { name: 'Sign in and continue' }))
        await shownOnce(page).waitFor()
        assert.deepEqual(changes, [note, note])
      }))

    test('an administrator makes a token in place, and the snippets have it while the dialog is open', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/tools?open=tool%2Fquery_database')
        await hand.press(page, page.getByText('Connect a client'))
        await hand.press(page, page.getByRole('tab', { name: 'Cursor' }))
        await hand.press(page, page.getByRole('button', { name: 'New token' }))
        await hand.fill(page, page.getByRole('dialog').getByLabel('Note'), `in place by ${hand.name}`)
        await hand.press(page, page.getByRole('button', { name: 'Create token' }))
        const token = (await shownOnce(page).getByRole('region', { name: 'Token' }).innerText()).trim()
        assert.ok((await shownOnce(page).getByRole('region', { name: 'Cursor' }).innerText()).includes(token))
        await hand.press(page, shownOnce(page).getByRole('button', { name: 'Done' }))
        await page.getByText('Replace <token>').waitFor()
        assert.ok(!(await page.content()).includes(token) && !(await kept(page)).includes(token))
      }))
  })
}

async function signsIn(context, username, secret) {
  const answer = await context.request.post(`${base}/mcp/v1`, { data: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'authenticate_user', arguments: { username, password: secret } } } })
  const { result } = await answer.json()
  return result !== undefined && !result.isError
}

test('who is no administrator finds Admin neither in the menu nor at its address', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/admin', 'bob')
    await page.getByRole('heading', { name: 'Administrators only' }).waitFor()
    assert.equal(await page.getByRole('navigation', { name: 'Screens' }).getByText('Admin').count(), 0)
    await page.goto(`${base}/console/tools?open=tool%2Fquery_database`)
    await page.getByText('Connect a client').click()
    assert.equal(await page.getByRole('button', { name: 'New token' }).count(), 0)
  }))

test('what the server does not allow stays in the dialog, in its words', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/admin?part=users')
    await page.getByRole('button', { name: 'Actions for alice' }).click()
    await page.getByRole('menuitem', { name: 'Disable…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('row', { name: /alice.* enabled/ }).waitFor()
  }))

test('Server shows the process and what is switched on', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/admin?part=server')
    await page.getByText('Uptime').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Model for Ask' }).getByText('on', { exact: true }).waitFor()
  }))
