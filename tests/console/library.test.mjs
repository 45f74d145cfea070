import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { base, signIn, token, until, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer } from './hands.mjs'
import { nothingRan, watchScripts } from './hostile.mjs'
import { editor, facts, saveAs, write } from './sql-page.mjs'

withBrowser()

const at = '/console/sql?db=shop'
const saved = (page, title) => page.getByRole('button', { name: new RegExp(`^${title}`) })
const showSaved = (page, hand = pointer) => hand.press(page, page.getByRole('tab', { name: 'Saved' }))

for (const hand of [pointer, keyboard]) {
  describe(`by ${hand.name}`, () => {
    test('an analyst saves a query, runs it with a value, renames it and deletes it', () =>
      visit({}, async (page) => {
        const title = `Customers of a city by ${hand.name}`
        await signIn(page, at)
        await hand.fill(page, editor(page), 'select id, name from customers where city = {{city}}')
        await page.keyboard.press('Control+s')
        const dialog = page.getByRole('dialog', { name: 'Save query' })
        await hand.fill(page, dialog.getByLabel('Title'), title)
        await hand.press(page, dialog.getByRole('button', { name: 'Save' }))
        await page.getByText(`${title} saved.`).waitFor()
        await page.getByRole('tab', { name: title }).waitFor()
        await page.reload()
        await page.getByRole('tab', { name: title }).waitFor()
        await showSaved(page, hand)
        await hand.press(page, saved(page, title))
        await page.keyboard.press('Control+Enter')
        const values = page.getByRole('dialog', { name: 'Parameters' })
        await hand.fill(page, values.getByLabel('city', { exact: true }), "Ur' or 'a' = 'a")
        await values.getByText("where city = 'Ur'' or ''a'' = ''a'").waitFor()
        await hand.fill(page, values.getByLabel('city', { exact: true }), 'Ur')
        await hand.press(page, values.getByRole('button', { name: 'Run', exact: true }))
        await facts(page, '66 rows')
        await hand.press(page, page.getByRole('button', { name: `Actions for ${title}` }))
        await hand.press(page, page.getByRole('menuitem', { name: 'Rename' }))
        await hand.fill(page, page.getByLabel('Title'), `${title} again`)
        await page.keyboard.press('Enter')
        await page.getByRole('tab', { name: `${title} again` }).waitFor()
        await hand.press(page, page.getByRole('button', { name: `Actions for ${title} again` }))
        await hand.press(page, page.getByRole('menuitem', { name: 'Delete' }))
        await hand.press(page, page.getByRole('dialog').getByRole('button', { name: 'Delete' }))
        await page.getByText(`${title} again deleted.`).waitFor()
        await saved(page, title).waitFor({ state: 'detached' })
      }))

    test('a question is kept as a prompt, and put into the field again without being sent', () =>
      visit({}, async (page) => {
        const asked = []
        page.on('request', (request) => asked.push(request.url()))
        await signIn(page, '/console/ask?db=shop')
        const question = page.getByRole('textbox', { name: 'Question' })
        const prompts = page.getByRole('dialog', { name: 'Prompts' })
        await hand.fill(page, question, `What is new? (${hand.name})`)
        await hand.press(page, page.getByRole('button', { name: 'Prompts' }))
        await hand.press(page, prompts.getByRole('tab', { name: 'Saved' }))
        await hand.press(page, prompts.getByRole('button', { name: 'Save as prompt' }))
        const title = page.getByRole('dialog', { name: 'Save prompt' }).getByLabel('Title')
        await hand.fill(page, title, `News by ${hand.name}`)
        await page.keyboard.press('Enter')
        await hand.press(page, prompts.getByRole('button', { name: new RegExp(`^News by ${hand.name}`) }))
        await until(async () => (await question.inputValue()) === `What is new? (${hand.name})\n\nWhat is new? (${hand.name})`, 'the prompt behind the question')
        assert.ok(!asked.some((url) => url.includes('/api/llm/chat')))
      }))
  })
}

test('the palette finds a saved query from every screen and opens it without running it', () =>
  visit({}, async (page) => {
    await signIn(page, at)
    await write(page, 'select 11 as eleven')
    await saveAs(page, 'Eleven of the palette')
    await page.goto(`${base}/console/tools?db=workshop`)
    await page.getByRole('navigation', { name: 'Screens' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command palette' }).fill('eleven of')
    await page.getByRole('option', { name: /Eleven of the palette/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'Eleven of the palette' }).waitFor()
    // It is a query of the database shop, and is opened there.
    await page.getByRole('button', { name: 'Database: shop' }).waitFor()
    await until(async () => (await editor(page).innerText()).includes('select 11'), 'the text of the query')
    assert.equal(new URL(page.url()).searchParams.get('saved'), null)
    await page.getByText('No results yet').waitFor()
  }))

test('a change that another tab has made first is shown, and nothing is overwritten unasked', () =>
  visit({}, async (page, context) => {
    await signIn(page, at)
    await showSaved(page)
    await write(page, 'select 1 as first')
    await saveAs(page, 'Of two tabs')
    const other = await context.newPage()
    await other.goto(base + at)
    await showSaved(other)
    await saved(other, 'Of two tabs').click()
    await write(other, 'select 2 as second')
    await other.keyboard.press('Control+s')
    await other.getByText('Of two tabs saved.').waitFor()
    await write(page, 'select 3 as third')
    await page.keyboard.press('Control+s')
    const dialog = page.getByRole('dialog', { name: 'Conflicting changes' })
    await dialog.getByText('select 2 as second').waitFor()
    await dialog.getByText('select 3 as third').waitFor()
    // Enter alone overwrites nothing.
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await until(async () => (await editor(page).innerText()).includes('select 3'), 'the own text stays')
    await other.reload()
    await showSaved(other)
    await saved(other, 'Of two tabs').click()
    await until(async () => (await editor(other).innerText()).includes('select 2'), 'the saved text stays')
    // The tab knows the other version now: saving again writes over it.
    const written = page.waitForResponse((response) => response.request().method() === 'PUT' && response.ok())
    await page.keyboard.press('Control+s')
    await written
    await write(other, 'select 4 as fourth')
    await other.keyboard.press('Control+s')
    const again = other.getByRole('dialog', { name: 'Conflicting changes' })
    await again.getByRole('button', { name: 'Overwrite' }).click()
    await again.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Of two tabs' }).press('Delete')
    await saved(page, 'Of two tabs').click()
    await until(async () => (await editor(page).innerText()).includes('select 4'), 'the text that was written last')
  }))

test('tabs tell each other of what is saved', () =>
  visit({}, async (page, context) => {
    await signIn(page, at)
    const other = await context.newPage()
    await other.goto(base + at)
    await showSaved(other)
    await write(page, 'select 5')
    await saveAs(page, 'Seen by the other tab')
    await saved(other, 'Seen by the other tab').waitFor()
  }))

test('what is shared is read by others, who save it as one of their own', () =>
  visit({}, async (page) => {
    await signIn(page, at, 'bob')
    await write(page, 'select 6 as six')
    await saveAs(page, 'Shared by bob', { shared: true })
    await write(page, 'select 7 as seven')
    await page.getByRole('button', { name: 'New tab' }).click()
    await write(page, 'select 8 as eight')
    await saveAs(page, 'Kept by bob')
    await page.getByRole('button', { name: 'Account: bob' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await signIn(page, at, 'carol')
    await showSaved(page)
    await saved(page, 'Shared by bob').waitFor()
    assert.equal(await saved(page, 'Kept by bob').count(), 0)
    await page.getByRole('button', { name: 'Actions for Shared by bob' }).click()
    assert.equal(await page.getByRole('menuitem', { name: /Rename|Delete|Share/ }).count(), 0)
    await page.keyboard.press('Escape')
    await saved(page, 'Shared by bob').click()
    await write(page, 'select 9 as nine')
    await page.keyboard.press('Control+s')
    const dialog = page.getByRole('dialog', { name: 'Save query' })
    await dialog.getByText('This query belongs to bob.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  }))

test('with an API token the page says that only users save', () =>
  visit({}, async (page) => {
    await page.goto(base + at)
    await page.getByRole('tab', { name: 'API token' }).click()
    await page.getByRole('textbox', { name: 'API token' }).fill(token)
    await page.keyboard.press('Enter')
    await showSaved(page)
    await page.getByText('Queries and prompts are saved for users only. You are signed in with a token.').waitFor()
    // A token is for one database: its tools have no argument `database`, and Explain works all the same.
    await write(page, 'select count(*) from orders')
    await page.getByRole('button', { name: 'Explain', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Explain', exact: true }).click()
    await page.getByRole('rowheader', { name: /Seq Scan on orders/ }).waitFor()
  }))

for (const bypassPolicy of [false, true]) {
  test(`titles and texts that are hostile stay texts, ${bypassPolicy ? 'without' : 'with'} the policy`, () =>
    visit({ bypassPolicy }, async (page) => {
      await watchScripts(page)
      await signIn(page, at)
      const title = `<img src=x onerror=alert(1)>\u202E ${bypassPolicy}`
      await write(page, '</textarea><script>alert(2)</script>')
      await page.keyboard.press('Control+s')
      const dialog = page.getByRole('dialog', { name: 'Save query' })
      await dialog.getByLabel('Title').fill(title)
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      await showSaved(page)
      await page.locator('.library-title').getByText('U+202E').first().waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Command palette' }).fill('img src')
      await page.getByRole('option', { name: /img src/ }).first().waitFor()
      await page.keyboard.press('Escape')
      await nothingRan(page)
    }))
}
