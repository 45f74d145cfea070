// Builds the console. `node build.mjs [--out FOLDER] [--watch] [--gallery]`
//
// The same input makes the same bytes. `--watch` builds again after changes, without minifying;
// `--gallery` adds the page of all components, which releases do not have.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import esbuild from 'esbuild'
import { CHUNKS, FIRST_LOAD, FIRST_SCREENS, FONTS, RAG } from './budgets.mjs'
import { documentation } from './docs/build.mjs'
import { page } from './look/page.mjs'

const web = dirname(fileURLToPath(import.meta.url))
const repository = resolve(web, '../../..')
const OPENAPI = ['openapi/ziggurat-rag.json', 'openapi/ziggurat-tools.json']
const ASSETS = '/console/assets/'

const { values: options } = parseArgs({
  options: {
    out: { type: 'string', default: join(web, '../dist') },
    watch: { type: 'boolean', default: false },
    gallery: { type: 'boolean', default: false },
  },
})
const dist = resolve(options.out)
const isCommitted = dist === resolve(web, '../dist')

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')

// Lists the files below a folder by their path with `/`, sorted by code points.
async function filesBelow(folder, keep = () => true) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter(keep)
    .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

// One digest over everything that the build reads, as the tests of the server compute it.
async function digestOfInputs() {
  const sources = await filesBelow(web, (path) => !/^(.*\/)?node_modules\//.test(path))
  const paths = [...sources.map((path) => `services/console/web/${path}`), ...OPENAPI]
  paths.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const lines = await Promise.all(
    paths.map(async (path) => `${sha256(await readFile(join(repository, path)))}  ${path}\n`),
  )
  return sha256(lines.join(''))
}

const common = {
  absWorkingDir: web,
  bundle: true,
  minify: !options.watch,
  sourcemap: options.watch ? 'linked' : false,
  legalComments: 'none',
  target: ['chrome123', 'firefox121', 'safari17.5'],
  outdir: join(dist, 'assets'),
  publicPath: ASSETS.slice(0, -1),
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  loader: { '.woff2': 'file' },
  metafile: true,
  write: false,
  logLevel: 'warning',
}

// Screens bring a style sheet of their own, loaded by the shell before the screen is shown.
async function stylesheets() {
  const found = await filesBelow(join(web, 'screens'), (path) => /^([^/]+)\/\1\.css$/.test(path))
  return ['look/shell.css', ...found.map((path) => `screens/${path}`), ...(options.gallery ? ['gallery/gallery.css'] : [])]
}

async function bundle() {
  const styles = await esbuild.build({ ...common, entryPoints: await stylesheets() })
  const named = {}
  for (const [path, output] of Object.entries(styles.metafile.outputs)) {
    if (output.entryPoint) named[output.entryPoint] = nameOf(path)
  }
  const [icons, iconsName] = await drawing('icons')
  const [mark, markName] = await drawing('mark')
  // A script that blocks the first paint cannot be a module.
  const theme = await esbuild.build({ ...common, entryPoints: { theme: 'look/theme.ts' }, format: 'iife' })
  const scripts = await esbuild.build({
    ...common,
    entryPoints: {
      shell: 'shell/shell.tsx',
      ...(options.gallery ? { gallery: 'gallery/gallery.tsx' } : {}),
    },
    format: 'esm',
    splitting: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: {
      STYLES: JSON.stringify(screensOnly(named)),
      ICONS: JSON.stringify(ASSETS + iconsName),
    },
  })
  const files = new Map([
    [`assets/${iconsName}`, icons],
    [`assets/${markName}`, mark],
  ])
  for (const file of [...styles.outputFiles, ...theme.outputFiles, ...scripts.outputFiles]) {
    files.set(relative(dist, file.path).replaceAll('\\', '/'), Buffer.from(file.contents))
  }
  const outputs = { ...styles.metafile.outputs, ...theme.metafile.outputs, ...scripts.metafile.outputs }
  return { files, outputs: withRelativeNames(outputs), styles: named }
}

// The console of ziggurat-rag, in a folder of its own: its server carries nothing else.
async function bundleRag() {
  const own = { ...common, outdir: join(dist, 'rag/assets') }
  const styles = await esbuild.build({ ...own, entryPoints: ['rag/rag.css'] })
  const [icons, iconsName] = await drawing('icons')
  const [mark, markName] = await drawing('mark')
  const theme = await esbuild.build({ ...own, entryPoints: { theme: 'look/theme.ts' }, format: 'iife' })
  const script = await esbuild.build({
    ...own,
    entryPoints: { rag: 'rag/rag.tsx' },
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: { STYLES: '{}', ICONS: JSON.stringify(ASSETS + iconsName) },
  })
  const files = new Map([
    [`rag/assets/${iconsName}`, icons],
    [`rag/assets/${markName}`, mark],
  ])
  for (const file of [...styles.outputFiles, ...theme.outputFiles, ...script.outputFiles]) {
    files.set(relative(dist, file.path).replaceAll('\\', '/'), Buffer.from(file.contents))
  }
  const named = (pattern) => nameOf([...files.keys()].find((path) => pattern.test(path)))
  const html = page({
    assets: ASSETS,
    script: named(/\/rag-.*\.js$/),
    theme: named(/\/theme-/),
    styles: [named(/\/rag-.*\.css$/)],
    mark: markName,
    preload: [],
    fonts: [named(/next-latin-wght-normal-/)],
    noscript: 'The console needs JavaScript. The same questions can be asked at /v1/; see /v1/openapi.json.',
  })
  files.set('rag/index.html', Buffer.from(html))
  return files
}

// The look of the pages of the browser sign-in, by its path in the repository. Their crate is published by itself,
// so it has copies.
async function signInLook() {
  const style = await esbuild.build({ ...common, minify: true, sourcemap: false, entryPoints: ['look/pages.css'] })
  const { mark, tier, stair } = JSON.parse(await readFile(join(web, 'look/drawings.json'), 'utf8'))
  // Without the style the tiers have no size.
  const copies = {
    'look.css': style.outputFiles[0].text,
    'pages/mark.svg': `<svg class="mark" width="48" height="48" viewBox="0 0 24 24" aria-hidden="true"><path fill="currentColor" fill-rule="evenodd" d="${mark}"/></svg>\n`,
    'pages/tiers.svg': `<svg class="sign-in-tiers" width="0" height="0" viewBox="0 0 1200 200" preserveAspectRatio="xMidYMax slice" aria-hidden="true"><path class="tier" d="${tier}"/><path class="stair" d="${stair}"/></svg>\n`,
  }
  return new Map(Object.entries(copies).map(([path, text]) => [`services/sign-in/src/${path}`, Buffer.from(text)]))
}

async function drawing(name) {
  const bytes = await readFile(join(web, `look/${name}.svg`))
  return [bytes, `${name}-${sha256(bytes).slice(0, 8).toUpperCase()}.svg`]
}

function screensOnly(named) {
  const screens = Object.entries(named).filter(([path]) => path !== 'look/shell.css')
  return Object.fromEntries(screens.map(([path, name]) => [path.split('/').at(-2), ASSETS + name]))
}

const nameOf = (path) => path.slice(path.lastIndexOf('/') + 1)

function withRelativeNames(outputs) {
  return Object.fromEntries(
    Object.entries(outputs).map(([path, output]) => [
      `assets/${nameOf(path)}`,
      { ...output, imports: output.imports.map((item) => ({ ...item, path: `assets/${nameOf(item.path)}` })) },
    ]),
  )
}

const outputOf = (outputs, entry) => Object.keys(outputs).find((path) => outputs[path].entryPoint === entry)

// Outputs that a script needs before it runs, itself included.
function closure(outputs, path, seen = new Set()) {
  if (!path || seen.has(path)) return seen
  seen.add(path)
  for (const item of outputs[path]?.imports ?? []) {
    if (item.kind === 'import-statement') closure(outputs, item.path, seen)
  }
  return seen
}

// Every file that a page, script or style sheet names has to be there.
function checkAddresses(files) {
  for (const [path, bytes] of files) {
    const folders = { '/console/assets/': path.startsWith('rag/') ? 'rag/assets/' : 'assets/', '/docs/assets/': 'docs/' }
    if (!/\.(html|css|js)$/.test(path) || path.includes('swagger')) continue
    for (const [address, folder, name] of bytes.toString().matchAll(/(\/(?:console|docs)\/assets\/)([\w./-]+)/g)) {
      if (!files.has(folders[folder] + name)) throw new Error(`${path} names ${address}, which the build does not make`)
    }
  }
}

function checkBudgets({ files, outputs, styles }) {
  const size = (paths) =>
    [...paths].reduce((sum, path) => sum + gzipSync(files.get(path), { level: 9 }).length, 0) / 1000
  const style = (entry) => {
    const path = entry.replace(/\.tsx$/, '.css')
    return styles[path] ? [`assets/${styles[path]}`] : []
  }
  const first = closure(outputs, outputOf(outputs, 'shell/shell.tsx'))
  closure(outputs, outputOf(outputs, 'look/theme.ts'), first)
  first.add(`assets/${styles['look/shell.css']}`)
  for (const entry of FIRST_SCREENS) {
    closure(outputs, outputOf(outputs, entry), first)
    for (const path of style(entry)) first.add(path)
  }
  const latin = [...files.keys()].filter((path) => /^assets\/.*-latin-wght-normal-/.test(path))
  const rows = [
    ['first load', size(first), FIRST_LOAD],
    ['fonts', latin.reduce((sum, path) => sum + files.get(path).length, 0) / 1000, FONTS],
  ]
  for (const [entry, limit] of Object.entries(CHUNKS)) {
    const output = outputOf(outputs, entry)
    if (!output) continue
    const own = [...closure(outputs, output)].filter((path) => !first.has(path))
    rows.push([entry, size([...own, ...style(entry)]), limit])
  }
  rows.push(['rag', size([...files.keys()].filter((path) => /^rag\/.*\.(js|css|html|svg)$/.test(path))), RAG])
  for (const [what, kilobytes, limit] of rows) {
    console.log(`${kilobytes.toFixed(1).padStart(7)} kB of ${String(limit).padStart(3)}  ${what}`)
  }
  return rows.filter(([, kilobytes, limit]) => kilobytes > limit).map(([what]) => what)
}

async function build() {
  const inputs = await digestOfInputs()
  const bundled = await bundle()
  const { files, outputs, styles } = bundled
  const preload = [...closure(outputs, outputOf(outputs, 'shell/shell.tsx'))].slice(1).map(nameOf)
  const fonts = [...files.keys()].filter((path) => /^assets\/.*next-latin-wght-normal-/.test(path)).map(nameOf)
  const html = (entry, style) =>
    page({
      assets: ASSETS,
      script: nameOf(outputOf(outputs, entry)),
      theme: nameOf(outputOf(outputs, 'look/theme.ts')),
      styles: style.map((path) => styles[path]),
      mark: nameOf([...files.keys()].find((path) => /^assets\/mark-/.test(path))),
      preload: entry === 'shell/shell.tsx' ? preload : [],
      fonts,
    })
  files.set('index.html', Buffer.from(html('shell/shell.tsx', ['look/shell.css'])))
  if (options.gallery) {
    files.set('gallery.html', Buffer.from(html('gallery/gallery.tsx', ['look/shell.css', 'gallery/gallery.css'])))
  }
  for (const [path, bytes] of await bundleRag()) files.set(path, bytes)
  for (const [name, bytes] of await documentation(web, esbuild)) files.set(`docs/${name}`, bytes)

  checkAddresses(files)
  await rm(dist, { recursive: true, force: true })
  const digests = {}
  for (const path of [...files.keys()].sort()) {
    const bytes = files.get(path)
    await mkdir(dirname(join(dist, path)), { recursive: true })
    await writeFile(join(dist, path), bytes)
    digests[path] = sha256(bytes)
  }
  const copies = {}
  for (const [path, bytes] of await signInLook()) {
    if (isCommitted) await writeFile(join(repository, path), bytes)
    copies[path] = sha256(bytes)
  }
  await writeFile(join(dist, 'manifest.json'), `${JSON.stringify({ inputs, files: digests, copies }, null, 2)}\n`)
  return options.watch ? [] : checkBudgets(bundled)
}

const above = await build()
if (above.length) {
  console.error(`above the budget: ${above.join(', ')}`)
  process.exit(1)
}
if (options.watch) {
  const { watch } = await import('node:fs')
  let due
  console.log(`watching ${relative(process.cwd(), web) || '.'}`)
  watch(web, { recursive: true }, (_, name) => {
    if (!name || name.includes('node_modules') || !existsSync(join(web, name))) return
    clearTimeout(due)
    due = setTimeout(() => build().then(() => console.log('built'), console.error), 100)
  })
}
