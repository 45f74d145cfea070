// Refuses sources that make markup from texts, that are too long, that have no subject, or whose words are unclear.
// Prints `file:line: reason` and exits with 1 if there are any.
import { readFile, readdir } from 'node:fs/promises'
import { extname } from 'node:path'

const LONGEST = 400

const FORBIDDEN = [
  [/\b(inner|outer)HTML\b|\binsertAdjacentHTML\b|\bdangerouslySetInnerHTML\b/, 'makes markup from a text; build elements'],
  [/\bset(HTML|HTMLUnsafe)\b|\bparseHTMLUnsafe\b|\bDOMParser\b|\bcreateContextualFragment\b|\bsrcdoc\b/, 'makes markup from a text; build elements'],
  [/\bdocument\.write(ln)?\b/, 'makes markup from a text; build elements'],
  [/\beval\(|\bnew Function\b|set(Timeout|Interval)\(\s*['"`]/, 'runs a text as a script'],
  [/\bsetAttribute\(\s*['"]style['"]/, 'is refused by the policy; set properties of element.style'],
  [/createElement\(\s*['"](script|style|iframe|object|embed)['"]/, 'is refused by the policy'],
  [/\bnew (Worker|SharedWorker)\b|\bserviceWorker\b/, 'is refused by the policy'],
  [/['"`]javascript:/i, 'runs a text as a script'],
]

// The rules of tests/words/check.py, for comments and texts of the interface.
const WORDS = [
  [/\b(nobody|somebody|someone|whoever|everybody|everyone|anybody|anyone)\b/i, 'name the user, client, caller or program that is meant'],
  [/^\s*(\/\*\*|\*)\s+(what|whatever|whether|how|who|whom|whose|which|where|when|why|as|if)\b.*/i, 'begin with a verb in the third person or a noun'],
]

const problems = []
const root = new URL('./', import.meta.url)
for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
  const path = `${entry.parentPath}/${entry.name}`.replace(/\/+/g, '/').slice(root.pathname.length)
  if (!entry.isFile() || path.startsWith('node_modules/') || path === 'lint.mjs') continue
  if (!['.ts', '.tsx', '.mjs', '.css'].includes(extname(path))) continue
  if (/(^|\/)(utils?|helpers?|misc|common)(\/|\.)/.test(path)) problems.push(`${path}:1: name the file after its subject`)
  const lines = (await readFile(new URL(path, root), 'utf8')).split('\n')
  if (lines.length > LONGEST + 1) problems.push(`${path}:${LONGEST}: more than ${LONGEST} lines`)
  if (/\.test\.tsx?$/.test(path)) continue
  lines.forEach((line, at) => {
    for (const [pattern, reason] of [...FORBIDDEN, ...WORDS]) {
      const found = pattern.exec(line)
      if (found) problems.push(`${path}:${at + 1}: ${found[0]}: ${reason}`)
    }
  })
}
for (const problem of problems) console.error(problem)
process.exit(problems.length ? 1 : 0)
