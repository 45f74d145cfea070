// The parts of the screen SQL that its walks use.
export const grid = (page) => page.getByRole('grid', { name: 'Rows' })
export const editor = (page) => page.getByRole('textbox', { name: 'SQL', exact: true })
export const facts = (page, words) => page.getByRole('status').filter({ hasText: words }).waitFor()

/** Replaces the text of the editor. */
export async function write(page, text) {
  await editor(page).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
  await page.keyboard.press('Escape')
}

export async function run(page, text) {
  await write(page, text)
  await page.keyboard.press('Control+Enter')
}

/** The cell that has the focus of a grid. */
export const active = (page) =>
  grid(page).evaluate((node) => document.getElementById(node.getAttribute('aria-activedescendant') ?? '')?.textContent ?? '')

/** Saves the text of the tab as a new query. */
export async function saveAs(page, title, { shared = false } = {}) {
  await editor(page).click()
  await page.keyboard.press('Control+s')
  const dialog = page.getByRole('dialog', { name: 'Save query' })
  await dialog.getByLabel('Title').fill(title)
  if (shared) await dialog.getByRole('switch', { name: 'Share with other users' }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText(`${title} saved.`).waitFor()
}

/** The rows before and after a change, as a dialog shows them. */
export async function changedSides(dialog) {
  const sides = {}
  for (const side of await dialog.locator('.changed-side').all()) {
    const name = (await side.getAttribute('aria-label')).split(': ').pop()
    const rows = await side.locator('tbody tr').all()
    sides[name] = await Promise.all(rows.map((row) => row.locator('td').allInnerTexts()))
  }
  return sides
}
