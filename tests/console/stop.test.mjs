import { describe, test } from 'node:test'
import { base, signIn, until, visit, withBrowser } from './browser.mjs'
import { run, write } from './sql-page.mjs'
import { isRunning } from './statements.mjs'

withBrowser()

// Each starts a statement with these words, and returns them.
const STARTS = {
  'a query': async (page) => {
    await page.goto(`${base}/console/sql?db=shop`)
    await run(page, `select 'of a query', pg_sleep(20)`)
    return 'of a query'
  },
  'an explained statement': async (page) => {
    await page.goto(`${base}/console/sql?db=shop`)
    await write(page, `select 'of a plan', pg_sleep(20)`)
    await page.getByRole('button', { name: 'Explain', exact: true }).click()
    await page.getByRole('menuitem', { name: /Explain analyze/ }).click()
    return 'of a plan'
  },
  'a statement that a model wanted': async (page) => {
    await page.goto(`${base}/console/ask?db=shop`)
    await page.getByRole('textbox', { name: 'Question' }).fill('Please wait')
    await page.keyboard.press('Enter')
    return 'asked by a model'
  },
}

const ENDS = {
  Stop: (page) => page.getByRole('button', { name: 'Stop' }).first().click(),
  'closing the tab': (page) => page.close(),
  'a reload': (page) => page.reload(),
}

for (const [what, start] of Object.entries(STARTS)) {
  describe(what, () => {
    for (const [how, end] of Object.entries(ENDS)) {
      test(`ends in PostgreSQL by ${how}`, () =>
        visit({}, async (page, context) => {
          await signIn(page)
          const tab = await context.newPage()
          const words = await start(tab)
          await until(() => isRunning(words), 'the statement')
          await end(tab)
          await until(async () => !(await isRunning(words)), 'its end')
        }))
    }
  })
}
