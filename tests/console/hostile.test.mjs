import { describe, test } from 'node:test'
import { base, signIn, visit, withBrowser } from './browser.mjs'
import { HOSTILE, nothingRan, poison, watchScripts } from './hostile.mjs'
import { facts, grid, run, saveAs, write } from './sql-page.mjs'

withBrowser()

const literal = (text) => `'${text.replaceAll("'", "''")}'`
const ROWS = `select value as text from json_array_elements_text(${literal(JSON.stringify(HOSTILE))})`
// PostgreSQL keeps 63 bytes of a name.
const COLUMNS = `select ${HOSTILE.map((text, at) => `${at} as "${text.replaceAll('"', '""')}"`).join(', ')}`

const PARTS = {
  tokens: ['tokens', ['note', 'database', 'hash_prefix']],
  users: ['users', ['username', 'note', 'databases']],
  databases: ['databases', ['name', 'host', 'database', 'user', 'version', 'status']],
  configuration: ['values', ['key', 'value', 'path', 'replica', 'version']],
}

// With and without the policy: the program itself makes no markup from texts.
for (const bypassPolicy of [false, true]) {
  describe(bypassPolicy ? 'without the policy' : 'with the policy', () => {
    const walk = (name, path, steps) =>
      test(name, () =>
        visit({ bypassPolicy }, async (page) => {
          await watchScripts(page)
          await signIn(page, path)
          await steps(page)
          await nothingRan(page)
        }))

    walk('CVE-2026-12048: cells, names of columns, notices, errors and plans of SQL stay texts', '/console/sql?db=shop', async (page) => {
      await run(page, ROWS)
      await facts(page, `${HOSTILE.length} rows`)
      await grid(page).focus()
      for (let row = 0; row < HOSTILE.length; row += 10) await page.keyboard.press('PageDown')
      await nothingRan(page)
      await run(page, COLUMNS)
      await facts(page, '1 row')
      await grid(page).focus()
      await page.keyboard.press('End')
      await nothingRan(page)
      await run(page, `select hostile.note(text) from (${ROWS}) as texts`)
      await facts(page, `${HOSTILE.length} rows`)
      await page.getByRole('tab', { name: /^Messages/ }).click()
      await nothingRan(page)
      await run(page, `select hostile.fail(${literal(HOSTILE.join('\n'))})`)
      await page.getByText(HOSTILE[0]).first().waitFor()
      await nothingRan(page)
      await write(page, `select * from hostile.texts where text in (${HOSTILE.map(literal).join(', ')})`)
      await page.getByRole('button', { name: 'Explain', exact: true }).click()
      await page.getByRole('menuitem', { name: 'Explain', exact: true }).click()
      await page.getByRole('rowheader', { name: /Seq Scan on texts/ }).waitFor()
    })

    walk('CVE-2025-32711: what a model writes loads and leads nowhere, nor do its arguments and titles of conversations', '/console/ask?db=shop', async (page) => {
      await page.getByRole('textbox', { name: 'Question' }).fill('Say all of it')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Ask again' }).waitFor()
      await page.getByText('That was all.', { exact: true }).waitFor()
      await nothingRan(page)
      await poison(page, '**/api/conversations?*', 'conversations', ['title', 'preview', 'connection', 'provider', 'model'])
      await page.reload()
      await page.getByRole('link', { name: HOSTILE[0] }).first().waitFor()
    })

    walk('tables, columns and comments of Schema stay texts', '/console/', async (page) => {
      await poison(page, '**/api/schema?*', 'tables', ['name', 'comment', 'default', 'type', 'definition', 'identity'])
      await page.goto(`${base}/console/schema?db=shop`)
      await page.getByRole('treeitem', { name: HOSTILE[1] }).first().click()
      await page.getByRole('heading', { name: HOSTILE[1] }).first().waitFor()
      for (const view of ['Constraints', 'Indexes', 'Policies and triggers', 'DDL', 'Diagram']) {
        await page.getByRole('tab', { name: new RegExp(view) }).click()
        await nothingRan(page)
      }
    })

    walk('tools, prompts, rows and passages stay texts', '/console/tools?open=tool%2Fquery_database&db=shop', async (page) => {
      const call = page.getByRole('button', { name: 'Call' })
      for (const sql of [ROWS, COLUMNS]) {
        await page.getByLabel('query', { exact: true }).fill(sql)
        await page.getByLabel('limit (optional)').fill('1000')
        await call.click()
        for (const view of ['Table', 'JSON', 'Text']) await page.getByRole('tab', { name: new RegExp(`^${view}`) }).click()
        await nothingRan(page)
      }
      await poison(page, '**/mcp', 'passages', ['id', 'column', 'table', 'text', 'content', 'title', 'description'])
      await page.goto(`${base}/console/tools?open=tool%2Fsimilarity_search&db=shop`)
      await page.getByRole('main').getByText(/alert\(1\)/).first().waitFor()
      await nothingRan(page)
      await page.goto(`${base}/console/search?db=shop`)
      await page.getByRole('searchbox', { name: 'Question' }).fill('wool')
      await page.keyboard.press('Enter')
      await page.getByRole('main').getByText(/alert\(1\)/).first().waitFor()
      await nothingRan(page)
      await page.goto(`${base}/console/ask?db=shop`)
      await page.getByRole('button', { name: 'Prompts' }).click()
      await page.getByRole('dialog', { name: 'Prompts' }).getByText(/alert\(1\)/).first().waitFor()
    })

    for (const [part, [list, members]] of Object.entries(PARTS)) {
      walk(`${part} of Admin stay texts`, '/console/', async (page) => {
        await poison(page, `**/api/admin/${part}`, list, members)
        await page.goto(`${base}/console/admin?db=shop&part=${part}`)
        await page.getByText(HOSTILE[0]).first().waitFor()
      })
    }

    walk('statements, callers and records of Activity stay texts', '/console/', async (page) => {
      await poison(page, '**/api/activity?*', 'finished', ['name', 'tool', 'database', 'statement', 'code', 'replica'])
      await page.goto(`${base}/console/activity?db=shop`)
      await page.getByRole('list', { name: 'Recent' }).getByText(HOSTILE[1]).first().waitFor()
      await nothingRan(page)
      await poison(page, '**/api/admin/audit?*', 'records', ['name', 'method', 'endpoint', 'tool', 'text', 'request_id', 'token', 'ip', 'instance'])
      await page.goto(`${base}/console/activity?view=audit`)
      const records = page.getByRole('list', { name: 'Records' })
      await records.locator('summary').first().click()
      await records.getByRole('region', { name: 'Record' }).first().waitFor()
    })

    walk('saved queries and prompts stay texts', '/console/sql?db=shop', async (page) => {
      await write(page, 'select 1')
      await saveAs(page, 'One of many')
      await poison(page, '**/api/library?*', 'items', ['title', 'text', 'database', 'owner'])
      await page.reload()
      await page.getByRole('tab', { name: 'Saved' }).click()
      await page.locator('.library-title').getByText(HOSTILE[0]).first().waitFor()
      await nothingRan(page)
      await page.locator('.library-title').first().click()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Command palette' }).fill('script')
      await page.getByRole('option', { name: /script/ }).first().waitFor()
    })
  })
}
