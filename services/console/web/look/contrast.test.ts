import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const css = readFileSync(new URL('tokens.css', import.meta.url), 'utf8')
const icons = readFileSync(new URL('icons.svg', import.meta.url), 'utf8')

/** Light and dark value of each colour. */
const colours = Object.fromEntries(
  [...css.matchAll(/--([\w-]+): light-dark\((#[\dA-F]{6}), (#[\dA-F]{6})\)/g)].map(([, name, light, dark]) => [name, [light, dark] as [string, string]]),
)

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(front: string, ground: string, theme: 0 | 1): number {
  const [a, b] = [front, ground].map((name) => luminance(colours[name]?.[theme] ?? '')) as [number, number]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

const GROUNDS = ['page', 'surface', 'sunken']

test('texts have a contrast of 4.5, controls and series of 3, on each ground in both themes', () => {
  for (const theme of [0, 1] as const) {
    for (const ground of GROUNDS) {
      for (const name of ['ink', 'muted', 'lapis', 'clay', 'ok', 'warn', 'danger']) {
        expect(contrast(name, ground, theme), `${name} on ${ground} in theme ${theme}`).toBeGreaterThanOrEqual(4.5)
      }
      for (const name of ['edge', ...Array.from({ length: 8 }, (_, at) => `chart-${at + 1}`)]) {
        expect(contrast(name, ground, theme), `${name} on ${ground} in theme ${theme}`).toBeGreaterThanOrEqual(3)
      }
    }
    expect(contrast('on-lapis', 'lapis', theme)).toBeGreaterThanOrEqual(4.5)
    expect(contrast('on-danger', 'danger', theme)).toBeGreaterThanOrEqual(4.5)
  }
})

test('each name of an icon has its drawing', async () => {
  const { ICON_NAMES } = await import('../parts/icon')
  const drawn = [...icons.matchAll(/<symbol id="([\w-]+)"/g)].map(([, name]) => name)
  expect(drawn.sort()).toEqual([...ICON_NAMES].sort())
})
