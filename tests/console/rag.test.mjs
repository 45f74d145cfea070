import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertAccessible, rag, until, visit, withBrowser } from './browser.mjs'
import { keyboard, pointer, reach } from './hands.mjs'
import { nothingRan, watchScripts } from './hostile.mjs'

withBrowser()

const question = (page) => page.getByRole('textbox', { name: 'Question' })
const passages = (page) => page.getByRole('complementary', { name: 'Passages' })
const passage = (page, at) => passages(page).getByRole('listitem').nth(at - 1)

async function open(page, pipeline) {
  await page.goto(`${rag.base}/`)
  await question(page).waitFor()
  if (pipeline) await page.getByRole('combobox', { name: 'Pipeline' }).selectOption(pipeline)
}

async function ask(page, words, hand = pointer) {
  await hand.fill(page, question(page), words)
  await page.keyboard.press('Enter')
  const turn = page.getByRole('article').last()
  await turn.and(page.locator('[aria-busy=false]')).waitFor()
  return turn
}

// Lists the tools at an address, as a client does.
async function toolsAt(url, headers = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  })
  const { result } = await response.json()
  return result.tools.map(({ name }) => name)
}

for (const hand of [pointer, keyboard]) {
  describe(`by ${hand.name}`, () => {
    test('a reader asks, and follows a citation to the sentence that it quotes', () =>
      visit({}, async (page) => {
        await open(page, 'model')
        const turn = await ask(page, 'How do I wash wool?', hand)
        const first = turn.getByRole('link', { name: /^Passage 1/ }).first()
        await turn.getByText('1 citation without a passage was removed.').waitFor()
        assert.equal(await turn.getByText('[9]').count(), 0)
        assert.equal(await turn.locator('code').textContent(), 'x[0]')
        await hand.press(page, first)
        const mark = passages(page).locator('mark')
        await until(async () => /washed by hand in cool water/.test(await mark.textContent()), 'the quote is marked')
        assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), await first.getAttribute('aria-label'))
      }))

    test('a reader sees which words stand in a passage, and follows them', () =>
      visit({}, async (page) => {
        await open(page, 'handbook')
        await page.getByText('quotes only').waitFor()
        const turn = await ask(page, 'How do I wash wool?', hand)
        const run = turn.locator('.rag-run').first()
        const words = await run.textContent()
        assert.ok(words.split(/\s+/).length >= 8, words)
        await hand.press(page, run)
        await until(async () => (await passages(page).locator('mark').textContent()) === words, 'the same words are marked')
      }))

    test('a tuner sees times and scores, narrows the search, and takes the request away', () =>
      visit({}, async (page) => {
        await open(page, 'model')
        const details = page.getByRole('switch', { name: 'Show retrieval details' })
        await reach(page, details)
        await page.keyboard.press('Space')
        assert.ok(await details.isChecked())
        await hand.fill(page, page.getByRole('spinbutton', { name: 'Passages to retrieve' }), '2')
        await hand.press(page, page.getByRole('button', { name: 'Add condition' }))
        await hand.fill(page, page.getByRole('textbox', { name: 'Column 1' }), 'content')
        await page.getByRole('combobox', { name: 'Operator 1' }).selectOption('ILIKE')
        await hand.fill(page, page.getByRole('textbox', { name: 'Value 1' }), '%water%')
        await hand.fill(page, question(page), 'How do I wash wool?')
        await hand.press(page, page.getByText('Request as curl'))
        const command = await page.getByRole('region', { name: 'Request as curl' }).textContent()
        assert.match(command, /"filter":\{"conditions":\[\{"column":"content","operator":"ILIKE","value":"%water%"\}\],"logic":"AND"\}/)
        const sent = page.waitForRequest('**/v1/pipelines/model')
        const turn = await ask(page, 'How do I wash wool?', hand)
        assert.deepEqual((await sent).postDataJSON(), JSON.parse(/-d '(.*)'$/s.exec(command)[1]))
        await passage(page, 1).getByText(/meaning .* #\d/).waitFor()
        assert.equal(await passages(page).getByRole('listitem').count(), 2)
        await hand.press(page, turn.getByText('Times', { exact: true }))
        await turn.getByText('search by meaning').waitFor()
      }))

    test('a reader takes the lines for an assistant away, and they connect it', () =>
      visit({}, async (page) => {
        await open(page)
        await hand.press(page, page.getByText('Use in your assistant'))
        const lines = page.getByRole('tabpanel').locator('code')
        assert.equal(await lines.textContent(), `claude mcp add --transport http ziggurat-rag '${rag.base}/mcp'`)
        await hand.press(page, page.getByRole('tab', { name: 'Cursor' }))
        const { url, headers } = JSON.parse(await lines.textContent()).mcpServers['ziggurat-rag']
        assert.equal(headers, undefined)
        assert.ok((await toolsAt(url)).includes('search_documents'))
        await hand.press(page, page.getByRole('tabpanel').getByRole('button', { name: 'Copy' }))
        await page.getByText('Copied').waitFor()
        await question(page).focus()
        await page.keyboard.press('Control+v')
        assert.equal(await question(page).inputValue(), await lines.textContent())
      }))
  })
}

test('pointer and focus show a quote in place, which Esc and leaving take away', () =>
  visit({}, async (page) => {
    await open(page, 'model')
    const turn = await ask(page, 'How do I wash wool?')
    const mark = turn.getByRole('link', { name: /^Passage 1/ }).first()
    const quote = page.getByRole('tooltip')
    await mark.hover()
    await quote.getByText(/washed by hand in cool water/).waitFor()
    await quote.hover()
    await page.keyboard.press('Escape')
    await quote.waitFor({ state: 'detached' })
    // Under the pointer, the quote would stay.
    await page.mouse.move(0, 0)
    await mark.focus()
    await quote.waitFor()
    await question(page).focus()
    await quote.waitFor({ state: 'detached' })
  }))

test('a citation that its passage does not support is marked in words', () =>
  visit({ bypassPolicy: true }, async (page) => {
    await page.route('**/v1/pipelines/model', (route) => {
      const events = [
        { type: 'sources', sources: [{ title: 'Wool', content: 'Wool is washed by hand.', score: 1 }] },
        { type: 'chunk', content: 'Silk is ironed [1]' },
        { type: 'citation', marker: 1, title: 'Wool', start: 15, end: 18, quote: 'Wool is washed by hand.', supported: false },
        { type: 'done', dropped_citations: 0 },
      ]
      const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
      return route.fulfill({ contentType: 'text/event-stream', body })
    })
    await open(page, 'model')
    const turn = await ask(page, 'How is silk ironed?')
    const mark = turn.getByRole('link', { name: 'Passage 1: Wool, not supported' })
    await turn.getByText('not supported', { exact: true }).waitFor()
    await mark.focus()
    await page.getByRole('tooltip').getByText('The citation is probably wrong.').waitFor()
    await assertAccessible(page, 'an unsupported citation')
  }))

test('a pipeline that shares no passages says so, and its marks are texts', () =>
  visit({}, async (page) => {
    await open(page, 'closed')
    const turn = await ask(page, 'How do I wash wool?')
    await passages(page).getByText('This pipeline does not share its passages.').waitFor()
    await turn.getByText('[1]').first().waitFor()
    assert.equal(await turn.getByRole('link', { name: /^Passage/ }).count(), 0)
  }))

test('a follow-up is sent with what was said, and starting over forgets it', () =>
  visit({}, async (page) => {
    await open(page, 'model')
    await ask(page, 'How do I wash wool?')
    const followed = page.waitForRequest('**/v1/pipelines/model')
    await ask(page, 'And silk?')
    const { messages } = (await followed).postDataJSON()
    assert.deepEqual(messages.map(({ role }) => role), ['user', 'assistant'])
    await page.getByRole('button', { name: 'New conversation' }).click()
    assert.equal(await page.getByRole('article').count(), 0)
    const alone = page.waitForRequest('**/v1/pipelines/model')
    await ask(page, 'And silk?')
    assert.equal((await alone).postDataJSON().messages, undefined)
  }))

test('the providers are asked on demand only, and the counters are shown', () =>
  visit({}, async (page) => {
    const asked = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await open(page)
    assert.ok(!asked.includes('/v1/health') && !asked.includes('/v1/stats'))
    await page.getByRole('button', { name: 'Check the providers' }).click()
    await page.getByText('reachable').first().waitFor()
    await page.getByRole('button', { name: 'Show the counters' }).click()
    await page.getByText(/\d+ read, \d+ written/).first().waitFor()
  }))

test('a server with tokens asks for one, keeps it in memory, and sends it', () =>
  visit({}, async (page, context) => {
    await page.goto(`${rag.closed}/`)
    await page.getByLabel('Token').fill('zig_wrong')
    await page.keyboard.press('Enter')
    await page.getByText('The server does not accept this token.').waitFor()
    await page.getByLabel('Token').fill(rag.token)
    await page.keyboard.press('Enter')
    const turn = await ask(page, 'How do I wash wool?')
    await turn.getByText(/cool water/).first().waitFor()
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))
    assert.ok(!kept.includes(rag.token) && !JSON.stringify(await context.cookies()).includes(rag.token))
    assert.ok(!(await page.content()).includes(rag.token))
    await page.reload()
    await page.getByLabel('Token').waitFor()
  }))

test('lines for an assistant have a place for the token, and connect it once one stands there', () =>
  visit({}, async (page) => {
    await page.goto(`${rag.closed}/`)
    await page.getByLabel('Token').fill(rag.token)
    await page.keyboard.press('Enter')
    await page.getByText('Use in your assistant').click()
    const lines = page.getByRole('tabpanel').locator('code')
    assert.match(await lines.textContent(), / --header 'Authorization: Bearer <token>'$/)
    await page.getByText('Replace <token> with a token of this server.').waitFor()
    await page.getByRole('tab', { name: 'VS Code' }).click()
    assert.ok(!(await page.content()).includes(rag.token))
    const { url, headers } = JSON.parse(await lines.textContent()).servers['ziggurat-rag']
    assert.equal(url, `${rag.closed}/mcp`)
    const Authorization = headers.Authorization.replace('<token>', rag.token)
    assert.ok((await toolsAt(url, { Authorization })).includes('search_documents'))
  }))

test('a server without the protocol shows no lines for an assistant', () =>
  visit({}, async (page) => {
    await page.route('**/v1/console', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), mcp: false } })
    })
    await open(page)
    await page.getByRole('button', { name: 'Check the providers' }).waitFor()
    assert.equal(await page.getByText('Use in your assistant').count(), 0)
  }))

test('stopping keeps what has arrived, and says so', () =>
  visit({}, async (page) => {
    await page.route('**/v1/pipelines/model', () => {})
    await open(page, 'model')
    await question(page).fill('How do I wash wool?')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Stopped.').waitFor()
  }))

for (const bypassPolicy of [false, true]) {
  test(`passages and answers that are hostile load and run nothing, ${bypassPolicy ? 'without' : 'with'} the policy`, () =>
    visit({ bypassPolicy }, async (page) => {
      await watchScripts(page)
      await open(page, 'model')
      const turn = await ask(page, 'What does the hostile passage say? <img src=x onerror=alert(1)>')
      await turn.getByRole('button', { name: /click/ }).click()
      await page.getByRole('dialog', { name: 'Open link' }).getByRole('button', { name: 'Cancel' }).click()
      await turn.getByRole('link', { name: /^Passage 1/ }).first().click()
      await passages(page).getByText('javascript:alert(1)').waitFor()
      await nothingRan(page)
    }))
}

for (const scheme of ['light', 'dark']) {
  for (const [width, height] of [
    [1440, 900],
    [360, 780],
  ]) {
    test(`the page is accessible and not too wide at ${width} pixels in ${scheme}`, () =>
      visit({ width, height, scheme, touch: width < 600, bypassPolicy: true }, async (page) => {
        await open(page, 'model')
        await assertAccessible(page, 'start')
        const turn = await ask(page, 'How do I wash wool?')
        await assertAccessible(page, 'an answer')
        const over = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)
        assert.ok(over <= 0, `${over} pixels too wide`)
        if (width > 600) return
        // On a telephone passages and settings are drawers.
        await turn.getByRole('link', { name: /^Passage 1/ }).first().tap()
        const drawer = page.getByRole('dialog', { name: 'Passages' })
        await drawer.locator('mark').waitFor()
        const ids = await page.locator('[id]').evaluateAll((all) => all.map(({ id }) => id))
        assert.equal(new Set(ids).size, ids.length, ids.join(' '))
        await assertAccessible(page, 'passages')
        await drawer.getByRole('button', { name: 'Close' }).tap()
        await page.getByRole('button', { name: 'Settings' }).tap()
        await page.getByRole('dialog', { name: 'Settings' }).getByRole('button', { name: 'Add condition' }).tap()
        await page.getByRole('dialog', { name: 'Settings' }).getByText('Use in your assistant').tap()
        await assertAccessible(page, 'settings')
      }))
  }
}

test('the server that is gone is said, and the question comes back', () =>
  visit({}, async (page, context) => {
    await open(page, 'model')
    await context.setOffline(true)
    await question(page).fill('Is it there?')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('The server cannot be reached.').waitFor()
    await question(page).press('ArrowUp')
    assert.equal(await question(page).inputValue(), 'Is it there?')
  }).catch((error) => {
    // The browser itself reports that it is offline; all else is a failure.
    const said = String(error.message)
    if (!/ERR_INTERNET_DISCONNECTED/.test(said) || /page error|dialog|request:/.test(said)) throw error
  }))
