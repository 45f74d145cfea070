// Screens that are looked at in every size and theme, and how to tell that they are ready.
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
]
