// Pictures of pages, compared with those in the folder `pictures`.
//
// Browsers of two machines draw the edges of letters differently, so a picture is kept as the mean colours of
// its blocks. What has moved, has gone or has another colour is seen in them.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const KEPT = fileURLToPath(new URL('pictures/', import.meta.url))
const FOUND = fileURLToPath(new URL('../../target/pictures/', import.meta.url))

export const THEMES = ['light', 'dark']

// Rules of accessibility are checked once in each theme: `CONSOLE_LOOKS=all` checks each theme in each size.
export const SIZES = [
  { width: 1440, height: 900, themes: ['light'] },
  { width: 768, height: 1024, themes: [] },
  { width: 360, height: 780, themes: ['dark'] },
]

const BLOCK = 8 // pixels of a block's side
const DIFFERENCE = 8 // of 255, that a block may have in red, green or blue
const PATIENCE = 10_000 // milliseconds for a page to look like its picture

/**
 * Compares pages with their pictures, each of which shows both themes. `CONSOLE_BLESS=1` keeps the pictures
 * instead: look at what has changed before it is committed.
 */
export class Pictures {
  #different = []

  /** Compares a page as it is now, and remembers the difference until the end. */
  async compare(page, name, options) {
    const file = `${name}-${page.viewportSize().width}`
    const path = join(KEPT, `${file}.png`)
    const kept = !process.env.CONSOLE_BLESS && existsSync(path) ? readFileSync(path, 'base64') : ''
    const end = Date.now() + PATIENCE
    let last
    for (;;) {
      const shots = []
      for (const theme of THEMES) shots.push(await shoot(page, theme, options))
      const { picture, difference } = await page.evaluate(compare, { shots, kept, side: BLOCK, allowed: DIFFERENCE })
      // The page may still be drawing.
      const isDrawing = Date.now() < end && (!process.env.CONSOLE_BLESS || picture !== last)
      last = picture
      if (difference && isDrawing) continue
      if (process.env.CONSOLE_BLESS) return write(path, picture)
      if (!difference) return
      THEMES.forEach((theme, at) => write(join(FOUND, `${file}-${theme}.png`), shots[at]))
      this.#different.push(`${file}: ${difference}`)
      return
    }
  }

  /** Fails if a page was different. */
  end() {
    if (this.#different.length > 0) throw new Error(`${this.#different.join('\n')}\nThe pages as they are now: ${FOUND}`)
  }
}

function write(file, picture) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, picture, 'base64')
}

async function shoot(page, theme, options) {
  await page.emulateMedia({ colorScheme: theme })
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
  await page.evaluate(hideNumbers)
  // The bars of a plan are as long as its times.
  const mask = [page.locator('.plan-bar')]
  const shot = await page.screenshot({ animations: 'disabled', mask, ...options })
  return shot.toString('base64')
}

// Times, ports, ids and sizes differ from run to run. Those that change while they are looked at stay hidden.
function hideNumbers() {
  const hide = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const { currentNode: node } = walker
      const text = node.data
        .replace(/[\w/.,:-]*\d[\w/.,:-]*/g, '0')
        // Planning writes marks on rows, unless another session was first.
        .replace(/ (dirtied|written)=0/g, '')
        .replace(/\b(in 0 \w+|0 \w+ ago|just now|in less than a minute)\b/g, 'now')
        .replace(/\b0 (ms|s|(min|h|d) 0 (s|min|h))\b/g, '0 s')
        .replace(/\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) 0 0\b/g, '0')
      if (text !== node.data) node.data = text
    }
  }
  hide()
  if (globalThis.hidesNumbers) return
  globalThis.hidesNumbers = true
  new MutationObserver(hide).observe(document.body, { characterData: true, childList: true, subtree: true })
}

// Makes blocks of pictures that stand side by side, and says how they differ from those that are kept.
async function compare({ shots, kept, side, allowed }) {
  const draw = async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
    const image = await createImageBitmap(new Blob([bytes]))
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d')
    context.drawImage(image, 0, 0)
    return context.getImageData(0, 0, image.width, image.height)
  }
  const reduce = ({ data, width, height }) => {
    const small = new ImageData(Math.floor(width / side), Math.floor(height / side))
    for (let y = 0; y < small.height; y += 1) {
      for (let x = 0; x < small.width; x += 1) {
        const sum = [0, 0, 0, 0]
        for (let line = y * side; line < (y + 1) * side; line += 1) {
          const first = (line * width + x * side) * 4
          for (let at = 0; at < side * 4; at += 1) sum[at % 4] += data[first + at]
        }
        small.data.set(sum.map((value) => Math.round(value / side ** 2)), (y * small.width + x) * 4)
      }
    }
    return small
  }
  const parts = []
  for (const shot of shots) parts.push(reduce(await draw(shot)))
  const { width, height } = parts[0]
  const context = new OffscreenCanvas(width * parts.length, height).getContext('2d')
  parts.forEach((part, at) => context.putImageData(part, at * width, 0))
  const blob = await context.canvas.convertToBlob()
  const picture = btoa(Array.from(new Uint8Array(await blob.arrayBuffer()), (byte) => String.fromCharCode(byte)).join(''))
  if (!kept) return { picture, difference: 'there is no picture of it' }
  const now = context.getImageData(0, 0, context.canvas.width, height)
  const before = await draw(kept)
  if (before.width !== now.width || before.height !== now.height) return { picture, difference: `it has ${now.width} × ${now.height} blocks and not ${before.width} × ${before.height}` }
  const places = []
  now.data.forEach((value, at) => {
    if (Math.abs(value - before.data[at]) <= allowed) return
    const block = Math.floor(at / 4)
    places.push(`${(block % width) * side},${Math.floor(block / now.width) * side}${block % now.width < width ? '' : ' in dark'} by ${value - before.data[at]}`)
  })
  return { picture, difference: places.length > 0 ? `${places.length} differences, the first at ${places.slice(0, 3).join('; ')}` : '' }
}
