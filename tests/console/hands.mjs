// Two ways to work: with a pointer, and with the keyboard alone.
import assert from 'node:assert/strict'

const MOST_TABS = 150

/** Works with a pointer. */
export const pointer = {
  name: 'pointer',
  press: (page, target) => target.click(),
  fill: (page, target, text) => target.fill(text),
}

/** Works with keys: Tab to the control, arrows inside of widgets, Enter. */
export const keyboard = {
  name: 'keyboard',
  async press(page, target) {
    await reach(page, target)
    await page.keyboard.press('Enter')
  },
  async fill(page, target, text) {
    await reach(page, target)
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(text)
  },
}

// The focus of an element in a shadow root is known to that root; the document knows only its host.
const hasFocus = (target) => target.evaluate((element) => element.contains(element.getRootNode().activeElement))

/** Leaves an editor, in which Tab indents. */
const leaveEditor = async (page) => {
  const inside = await page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.getAttribute('role') === 'textbox')
  if (inside) await page.keyboard.press('Escape')
}

const WIDGETS = 'menu tablist tree grid listbox'.split(' ')

/** Moves the focus to a control as a person does who has no pointer. */
export async function reach(page, target) {
  await target.waitFor()
  const role = await target.evaluate((element) => element.closest('[role=menu],[role=tablist],[role=tree],[role=listbox]')?.getAttribute('role'))
  const widget = WIDGETS.includes(role)
  // An open menu takes the focus a moment later; Tab before that would close it.
  if (role === 'menu') await page.waitForFunction(() => document.activeElement?.closest('[role=menu]'))
  for (let step = 0; step < MOST_TABS; step += 1) {
    if (await hasFocus(target)) return
    await leaveEditor(page)
    const inside = widget && (await target.evaluate((element, role) => element.closest(`[role=${role}]`)?.contains(document.activeElement), role))
    await page.keyboard.press(inside ? (role === 'tablist' ? 'ArrowRight' : 'ArrowDown') : 'Tab')
  }
  assert.fail(`Tab does not reach ${target}`)
}
