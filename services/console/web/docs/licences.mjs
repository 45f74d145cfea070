// Names the packages that are part of what is shipped, and refuses licences that were not agreed to.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const AGREED = ['MIT', 'Apache-2.0', 'OFL-1.1']

// Lists the dependencies of package.json with what they need, from the lock file.
export async function licences(web) {
  const read = async (path) => JSON.parse(await readFile(join(web, path), 'utf8'))
  const { packages } = await read('package-lock.json')
  const found = new Map()
  const queue = Object.keys((await read('package.json')).dependencies)
  while (queue.length) {
    const name = queue.shift()
    const entry = packages[`node_modules/${name}`]
    // Types of the browser's libraries, and scripts that report installations, are not shipped.
    if (!entry || found.has(name) || name.startsWith('@types/') || name === '@scarf/scarf') continue
    if (!AGREED.includes(entry.license)) throw new Error(`${name} has the licence ${entry.license}, which was not agreed to`)
    found.set(name, { name, version: entry.version, licence: entry.license })
    queue.push(...Object.keys(entry.dependencies ?? {}))
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}
