// @vitest-environment happy-dom
import { render } from 'preact'
import { act } from 'preact/test-utils'
import { afterEach, expect, test, vi } from 'vitest'
import { Markdown } from './markdown'

afterEach(() => act(() => render(null, document.body)))

function shown(source: string, onLink = (_: string) => {}): HTMLElement {
  act(() => render(<Markdown source={source} hooks={{ onLink }} />, document.body))
  return document.body
}

test('Markdown becomes elements', () => {
  const body = shown('## Title\n\nSome **bold** and `code`.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote')
  for (const name of ['h4', 'strong', 'code', 'ul > li', 'table td', 'blockquote p']) expect(body.querySelector(name), name).not.toBeNull()
})

test('raw HTML, images and links that are not https stay texts', () => {
  const body = shown('<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\nx <b onclick=alert(1)>y</b>\n\n![i](https://198.51.100.1/x.png)\n\n[a](javascript:alert(1)) [b](http://198.51.100.1/) [c](data:text/html,x)')
  expect(body.querySelectorAll('script, img, b, a, iframe')).toHaveLength(0)
  expect(body.textContent).toContain('<script>alert(1)</script>')
  expect(body.textContent).toContain('https://198.51.100.1/x.png')
  expect(body.querySelectorAll('button.markdown-link')).toHaveLength(0)
})

test('hidden characters are shown as marks, also in code', () => {
  const deep = `${'> '.repeat(14)}deep\u202e`
  const body = shown(`\`a\u202eb\` and \u200b text\n\n~~~\nselect\u2066 1\n~~~\n\n${deep}`)
  expect(body.textContent).not.toMatch(/[\u202e\u200b\u2066]/)
  expect([...body.querySelectorAll('code .hidden-character')].map((mark) => mark.textContent)).toEqual(['U+202E', 'U+2066'])
})

test('a link shows its host and opens only through the question before it', () => {
  const onLink = vi.fn()
  const body = shown('[your bank](https://198.51.100.1/steal?rows=1)', onLink)
  expect(body.textContent).toContain('198.51.100.1')
  body.querySelector<HTMLButtonElement>('button.markdown-link')?.click()
  expect(onLink).toHaveBeenCalledWith('https://198.51.100.1/steal?rows=1')
})

test('quotes within quotes end somewhere', () => {
  expect(shown(`${'> '.repeat(200)}deep`).textContent).toContain('deep')
})

test('a text of marks is read in time and stays as it is', () => {
  for (const mark of ['_a', '*a', '**a', 'a*b_', '~a']) {
    const source = mark.repeat(30_000)
    const began = performance.now()
    expect(shown(`before\n\n${source}\n\n**after**`).querySelector('strong')?.textContent).toBe('after')
    expect(performance.now() - began, mark).toBeLessThan(1000)
    expect(document.body.textContent).toContain(source)
  }
})

test('a text that grows is made again only where it has changed', () => {
  const words = vi.fn((text: string) => text)
  const hooks = { onLink: () => {}, words }
  const grown = (source: string) => act(() => render(<Markdown source={source} hooks={hooks} />, document.body))
  grown('one\n\ntwo [a][1]\n\nthr')
  words.mockClear()
  grown('one\n\ntwo [a][1]\n\nthree')
  expect(words.mock.calls).toEqual([['three']])
  // The address of a link may come later.
  grown('one\n\ntwo [a][1]\n\nthree\n\n[1]: https://198.51.100.1/')
  expect(document.body.querySelectorAll('button.markdown-link')).toHaveLength(1)
})

test('a text that arrives letter by letter looks as it does at once', () => {
  const source = 'Para\n---\n\nMid\n---\n\nMore\ntext [a][1]\n- one\n\n- two\n    deep\n\n  para\n\n```sql\nselect 1\n\nselect 2\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n> quote\nlazy\n\n    code\n\n<b>raw</b>\n\n***\n\n1. x\n2. y\r\n\r\nend [a][1]\n\n[1]: https://198.51.100.1/\n\nlast\n==='
  const hooks = { onLink: () => {} }
  const [grown, whole] = [document.createElement('div'), document.createElement('div')]
  for (let length = 1; length <= source.length; length += 1) {
    act(() => render(<Markdown source={source.slice(0, length)} hooks={hooks} />, grown))
    act(() => render(null, whole))
    act(() => render(<Markdown source={source.slice(0, length)} hooks={hooks} />, whole))
    expect(grown.innerHTML, source.slice(0, length)).toBe(whole.innerHTML)
  }
})
