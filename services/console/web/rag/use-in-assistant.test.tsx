// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, expect, test } from 'vitest'
import { takeToken } from '../api/rag'
import { offered } from './dialogue'
import { UseInAssistant } from './use-in-assistant'

afterEach(() => {
  act(() => render(null, document.body))
  takeToken('')
})

function shown(mcp: boolean) {
  offered.value = { version: '0.1.0', mcp, pipelines: [] }
  act(() => render(<UseInAssistant />, document.body))
  return document.body
}

test('each client gets its lines, with a place for a token only if the server wants one', () => {
  const body = shown(true)
  const command = () => body.querySelector('pre')?.textContent
  expect(command()).toBe(`claude mcp add --transport http ziggurat-rag '${location.origin}/mcp'`)
  expect(body.textContent).not.toContain('<token>')
  act(() => body.querySelector<HTMLElement>('[data-name="VS Code"]')?.click())
  expect(JSON.parse(command() ?? '')).toEqual({ servers: { 'ziggurat-rag': { type: 'http', url: `${location.origin}/mcp` } } })
})

test('the token of the person stays out of the lines', () => {
  takeToken('zig_secret')
  const body = shown(true)
  for (const client of ['Claude Code', 'Cursor', 'VS Code']) {
    act(() => body.querySelector<HTMLElement>(`[data-name="${client}"]`)?.click())
    expect(body.querySelector('pre')?.textContent, client).toContain('Bearer <token>')
  }
  expect(body.innerHTML).not.toContain('zig_secret')
})

test('a server without the protocol offers no lines', () => {
  expect(shown(false).textContent).toBe('')
})
