import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { signIn, until, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer } from './hands.mjs'
import { runAs } from './statements.mjs'

withBrowser()

const running = (page) => page.getByRole('list', { name: 'Running now' })
const line = (page, words) => running(page).getByRole('listitem').filter({ hasText: words })

for (const hand of [pointer, keyboard]) {
  describe(`by ${hand.name}`, () => {
    test('an operator finds a statement that runs, reads it, and cancels it', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/activity?db=shop')
        const words = `${hand.name} sleeps`
        const { end } = await runAs('bob', `select '${words}', pg_sleep(20)`)
        const own = line(page, words)
        await own.waitFor()
        assert.match(await own.innerText(), /bob/)
        await hand.press(page, own.locator('summary'))
        await own.getByRole('region', { name: 'Statement' }).getByText(`select '${words}', pg_sleep(20)`).waitFor()
        await hand.press(page, own.getByRole('button', { name: /^Cancel / }))
        await page.getByText('Cancelling the statement').waitFor()
        assert.match(await end, /"error"/)
        // The line stays where the pointer or the focus is, and says how it ended.
        await own.getByText(/^cancelled/).waitFor()
      }))

    test('a list that is held still does not move, and goes on when it is let go', () =>
      visit({}, async (page) => {
        await signIn(page, '/console/activity?db=shop')
        await page.getByRole('heading', { name: 'Recent' }).waitFor()
        const hold = page.getByRole('button', { name: 'Pause' })
        await hand.press(page, hold)
        assert.equal(await hold.getAttribute('aria-pressed'), 'true')
        const asked = []
        page.on('request', (request) => asked.push(request.url()))
        const words = `${hand.name} is late`
        await (await runAs('bob', `select '${words}'`)).end
        await page.getByText(/^Paused at/).waitFor()
        assert.equal(asked.filter((url) => url.includes('/api/activity')).length, 0)
        assert.equal(await page.getByText(words).count(), 0)
        await hand.press(page, hold)
        await page.getByRole('list', { name: 'Recent' }).getByText(words).first().waitFor()
      }))

    test('an administrator looks for a call in the audit trail and reads its record', () =>
      visit({}, async (page) => {
        const words = `${hand.name}_was_here`
        await (await runAs('bob', `select count(*) as ${words} from customers`)).end
        await signIn(page, '/console/activity?view=audit')
        await hand.fill(page, page.getByLabel('Caller'), 'bob')
        await hand.fill(page, page.getByRole('searchbox', { name: 'Contains' }), words)
        await hand.press(page, page.getByRole('button', { name: 'Search', exact: true }))
        const record = page.getByRole('list', { name: 'Records' }).getByRole('listitem').filter({ hasText: words })
        await hand.press(page, record.locator('summary'))
        await record.getByRole('region', { name: 'Record' }).getByText('"verdict"').waitFor()
        const { searchParams } = new URL(page.url())
        assert.equal(searchParams.get('caller'), 'bob')
        assert.equal(searchParams.get('q'), words)
        await page.getByText('chain intact').waitFor()
        await page.reload()
        await record.waitFor()
      }))
  })
}

test('a user sees only the own statements, and neither Audit nor those of others', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/activity?view=audit&scope=all', 'bob')
    await page.getByRole('heading', { name: 'Running now' }).waitFor()
    assert.equal(await page.getByRole('tab', { name: 'Audit' }).count(), 0)
    const { end } = await runAs('alice', `select 'of alice', pg_sleep(4)`)
    const own = await runAs('bob', `select 'of bob', pg_sleep(4)`)
    await line(page, 'of bob').waitFor()
    assert.equal(await line(page, 'of alice').count(), 0)
    await Promise.all([end, own.end])
  }))

test('new statements wait while the pointer is on the list', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/activity?db=shop')
    const first = await runAs('bob', `select 'the first', pg_sleep(20)`)
    await line(page, 'the first').hover()
    const second = await runAs('bob', `select 'the second', pg_sleep(20)`)
    await page.getByText(/^\d+ new statements?/).waitFor()
    assert.equal(await line(page, 'the second').count(), 0)
    await page.mouse.move(5, 5)
    await line(page, 'the second').waitFor()
    for (const words of ['the first', 'the second']) await line(page, words).getByRole('button').click()
    await Promise.all([first.end, second.end])
  }))

test('records are saved as files that hold those of the filters', () =>
  visit({}, async (page) => {
    await (await runAs('bob', 'select 17 as saved_to_a_file')).end
    await signIn(page, '/console/activity?view=audit&q=saved_to_a_file')
    await page.getByRole('list', { name: 'Records' }).waitFor()
    for (const [name, read] of [['JSON', (text) => JSON.parse(text).length], ['CSV', (text) => text.trim().split('\r\n').length - 1]]) {
      await page.getByRole('button', { name: 'Export' }).click()
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name }).click()])
      const pieces = []
      for await (const piece of await file.createReadStream()) pieces.push(piece)
      const text = Buffer.concat(pieces).toString()
      assert.ok(text.includes('saved_to_a_file'), name)
      assert.ok(read(text) >= 1, name)
    }
  }))

test('without an audit trail the screen says which keys to set', () =>
  visit({}, async (page) => {
    await page.route('**/api/admin/audit?**', (route) => route.fulfill({ status: 404, json: { error: 'No audit trail', code: 'audit_off' } }))
    await signIn(page, '/console/activity?view=audit')
    await page.getByText('No audit trail').waitFor()
    await page.getByText(/audit:\s+file:/).waitFor()
  }))

test('Back leads through the views, and a period between two times is kept in the address', () =>
  visit({}, async (page) => {
    await signIn(page, '/console/activity?view=audit')
    await page.getByLabel('Time').selectOption('between')
    await page.getByLabel('From').fill('2026-01-01T00:00')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await until(() => new URL(page.url()).searchParams.get('from') === '2026-01-01T00:00', 'the filter in the address')
    await page.reload()
    assert.equal(await page.getByLabel('From').inputValue(), '2026-01-01T00:00')
  }))
