// Makes the files of the API reference: Swagger UI as it comes, a style sheet and a script of ours.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { licences } from './licences.mjs'

const ASSETS = '/docs/assets/'

const hashed = (name, bytes) => {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase()
  return name.replace(/(\.[a-z]+)$/, `-${hash}$1`)
}

// Returns pairs of a name in the folder `docs` of the build and its bytes.
export async function documentation(web, esbuild) {
  const swagger = (name) => readFile(join(web, 'node_modules/swagger-ui-dist', name))
  const bundle = await swagger('swagger-ui-bundle.js')
  const sheet = await swagger('swagger-ui.css')
  const built = await esbuild.build({
    absWorkingDir: web,
    entryPoints: ['docs/docs.css', 'docs/docs.ts'],
    bundle: true,
    minify: true,
    legalComments: 'none',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    format: 'iife',
    outdir: join(web, 'docs-out'),
    publicPath: ASSETS.slice(0, -1),
    entryNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.woff2': 'file' },
    write: false,
    logLevel: 'warning',
  })
  const files = new Map(
    built.outputFiles.map((file) => [file.path.slice(file.path.lastIndexOf('/') + 1), Buffer.from(file.contents)]),
  )
  const mark = await readFile(join(web, 'look/mark.svg'))
  const named = {
    bundle: hashed('swagger-ui-bundle.js', bundle),
    sheet: hashed('swagger-ui.css', sheet),
    mark: hashed('mark.svg', mark),
    style: [...files.keys()].find((name) => /^docs-.*\.css$/.test(name)),
    script: [...files.keys()].find((name) => /^docs-.*\.js$/.test(name)),
  }
  files.set(named.bundle, bundle)
  files.set(named.sheet, sheet)
  files.set(named.mark, mark)
  files.set('index.html', Buffer.from(page(named, await licences(web))))
  return files
}

const page = (named, packages) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Ziggurat API</title>
<link rel="stylesheet" href="${ASSETS}${named.sheet}">
<link rel="stylesheet" href="${ASSETS}${named.style}">
<link rel="icon" href="${ASSETS}${named.mark}" type="image/svg+xml">
<script src="${ASSETS}${named.bundle}" defer></script>
<script src="${ASSETS}${named.script}" defer></script>
</head>
<body>
<header class="top">
<p class="name"><img src="${ASSETS}${named.mark}" alt="" width="20" height="20"> Ziggurat API</p>
<p id="session"></p>
</header>
<main id="reference"></main>
<noscript><p>This page needs JavaScript. The document itself is <a href="/api/openapi.json">/api/openapi.json</a>.</p></noscript>
<footer>
<details>
<summary>Licences</summary>
<p>This page and the console contain these packages:</p>
<ul>
${packages.map(({ name, version, licence }) => `<li>${name} ${version}, ${licence}</li>`).join('\n')}
</ul>
</details>
</footer>
</body>
</html>
`
