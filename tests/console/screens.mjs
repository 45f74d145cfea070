// Screens that are looked at in every size and theme, and how to tell that they are ready.
import { saveAs, write } from './sql-page.mjs'

export const SCREENS = [
  {
    name: 'ask',
    path: '/console/ask',
    ready: async (page) => {
      await page.getByLabel('Question').fill('Which category earned most?')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Ask again' }).waitFor()
    },
  },
  {
    name: 'sql',
    path: `/console/sql?db=shop#${encodeURIComponent('select id, name, city from customers order by id')}`,
    ready: async (page) => {
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      await page.getByRole('status').filter({ hasText: '200 rows' }).waitFor()
    },
  },
  {
    name: 'sql-plan',
    path: `/console/sql?db=shop#${encodeURIComponent('select count(*) from orders')}`,
    ready: async (page) => {
      await page.getByRole('button', { name: 'Explain', exact: true }).click()
      await page.getByRole('menuitem', { name: /Explain analyze/ }).click()
      await page.getByRole('rowheader', { name: /Seq Scan on orders/ }).waitFor()
    },
  },
  {
    name: 'sql-chart',
    path: `/console/sql?db=shop#${encodeURIComponent('select city, count(*) from customers group by 1')}`,
    ready: async (page) => {
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      await page.getByRole('tab', { name: 'Chart' }).click()
      await page.getByText('Data table').waitFor()
    },
  },
  {
    name: 'sql-saved',
    path: `/console/sql?db=shop#${encodeURIComponent('select 1')}`,
    ready: async (page) => {
      await saveAs(page, 'One')
      const side = page.getByRole('button', { name: 'Show tables, saved queries and history' })
      if (await side.isVisible()) await side.click()
      await page.getByRole('tab', { name: 'Saved' }).click()
      await page.getByRole('button', { name: 'Actions for One' }).first().waitFor()
    },
  },
  {
    name: 'ask-prompts',
    path: '/console/ask?db=shop',
    ready: async (page) => {
      await page.getByRole('button', { name: 'Prompts' }).click()
      await page.getByRole('dialog', { name: 'Prompts' }).getByRole('tab', { name: 'Saved' }).click()
    },
  },
  {
    name: 'sql-conflict',
    path: `/console/sql?db=shop#${encodeURIComponent('select 2 as other')}`,
    ready: async (page) => {
      await saveAs(page, 'Two')
      await write(page, 'select 2 as two')
      // The server gets a version that it does not have, as if another tab had been first.
      await page.route('**/api/library/*', (route) => {
        const item = route.request().postDataJSON()
        route.continue({ postData: JSON.stringify({ ...item, version: item.version + 1 }) })
      })
      await page.keyboard.press('Control+s')
      await page.getByRole('dialog', { name: 'Conflicting changes' }).waitFor()
      await page.unroute('**/api/library/*')
    },
  },
  {
    name: 'schema',
    path: '/console/schema?db=shop',
    ready: (page) => page.getByText(/^List of/).waitFor(),
  },
  {
    name: 'schema-table',
    path: '/console/schema?db=shop&schema=public&table=orders',
    ready: (page) => page.getByRole('row', { name: /customer_id/ }).waitFor(),
  },
  {
    name: 'search',
    path: '/console/search',
    ready: (page) => page.getByRole('searchbox', { name: 'Question' }).waitFor(),
  },
  {
    name: 'tools',
    path: '/console/tools?open=tool%2Fquery_database',
    ready: async (page) => {
      await page.getByLabel('query', { exact: true }).fill('select id, name, category, price from products order by id limit 12')
      await page.getByRole('button', { name: 'Call' }).click()
      await page.getByRole('tab', { name: 'Table' }).waitFor()
    },
  },
  {
    name: 'admin-new-token',
    path: '/console/admin?db=shop',
    ready: async (page) => {
      await page.getByRole('button', { name: 'New token' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'activity',
    path: '/console/activity?db=shop',
    ready: (page) => page.getByRole('heading', { name: 'Connections' }).waitFor(),
  },
  {
    name: 'activity-audit',
    // The records of one tool stand in the same order each time, unlike those of requests at once.
    path: '/console/activity?db=shop&view=audit&tool=query_database',
    ready: (page) => page.getByRole('list', { name: 'Records' }).waitFor(),
  },
  ...['tokens', 'users', 'databases', 'configuration', 'server'].map((part) => ({
    name: `admin-${part}`,
    path: `/console/admin?db=shop&part=${part}`,
    ready: (page) => page.locator(READY[part]).first().waitFor(),
  })),
]

/** Elements that a part of Admin has when it is loaded. */
const READY = {
  tokens: '.admin-part .table',
  users: '.admin-part .table',
  databases: '.database-card',
  configuration: '.settings',
  server: '.server-facts',
}
