// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, expect, test, vi } from 'vitest'
import { ConfirmRun } from './confirm-run'

afterEach(() => act(() => render(null, document.body)))

test('a text is run once its end was on the screen, and hidden characters in it are marks', () => {
  const sizes = { scrollHeight: 900, clientHeight: 300, scrollTop: 0 }
  for (const name of Object.keys(sizes) as (keyof typeof sizes)[]) vi.spyOn(HTMLElement.prototype, name, 'get').mockImplementation(() => sizes[name])
  const decide = vi.fn()
  act(() => render(<ConfirmRun title="T" text={'delete from t -- \u202e'} label="L" run="Run" onDecide={decide}>{null}</ConfirmRun>, document.body))
  const run = () => [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Run')
  expect(document.querySelector('pre')?.textContent).toBe('delete from t -- U+202E')
  expect(run()?.disabled).toBe(true)
  sizes.scrollTop = 600
  act(() => void document.querySelector('pre')?.dispatchEvent(new Event('scroll')))
  expect(run()?.disabled).toBe(false)
  act(() => run()?.click())
  expect(decide).toHaveBeenCalledWith(true)
  vi.restoreAllMocks()
})
