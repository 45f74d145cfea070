// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, expect, test } from 'vitest'
import { StepView } from './step-view'
import type { Step } from './turns'

afterEach(() => act(() => render(null, document.body)))

test('a step that failed shows its statement and the message without a click', () => {
  const step: Step = { id: 'u1', tool: 'query_database', input: { query: 'select nam from customers' }, database: 'shop', state: 'running', text: '', structured: null, milliseconds: 1, editedBy: null }
  const shown = (next: Step) => act(() => render(<StepView step={next} number={0} busy={false} onRun={() => {}} />, document.body))
  shown(step)
  for (const state of ['failed', 'declined'] as const) {
    shown({ ...step, state, text: 'column "nam" does not exist' })
    const details = document.querySelector<HTMLDetailsElement>('details.step')
    expect(details?.open, state).toBe(true)
    expect(details?.textContent).toContain('select nam from customers')
    expect(details?.textContent).toContain('column "nam" does not exist')
  }
  shown({ ...step, state: 'done', text: 'no table' })
  expect(document.querySelector<HTMLDetailsElement>('details.step')?.open).toBe(false)
})
