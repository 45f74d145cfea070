// Runs a command with a database, `ziggurat-tools` with accounts, and their addresses in the environment.
// `node with-server.mjs COMMAND…`
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startModel } from './model.mjs'

const PATIENCE = 60_000 // milliseconds for a program to start
const PASSWORD = 'a password of many words'
const programs = process.env.CONSOLE_PROGRAMS
const folder = mkdtempSync(join(tmpdir(), 'console-'))
const children = []
let model

// Resolves with the first line that fits; fails if the program ends or takes too long.
async function firstLine(child, stream, pattern) {
  const late = setTimeout(() => child.kill(), PATIENCE)
  const seen = []
  for await (const line of createInterface({ input: stream })) {
    seen.push(line)
    const found = pattern.exec(line)
    if (!found) continue
    clearTimeout(late)
    stream.resume()
    return found
  }
  throw new Error(`a program ended before it was ready:\n${seen.join('\n')}`)
}

async function startDatabase() {
  const sample = fileURLToPath(new URL('sample.sql', import.meta.url))
  const child = spawn(join(programs, 'examples/database'), [sample], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  const [address] = await firstLine(child, child.stdout, /^postgres.*/)
  return new URL(address)
}

// Both names are the same database: one may write.
function configuration(url, model) {
  const database = (name, writes) => ({
    name,
    host: url.hostname,
    port: Number(url.port || 5432),
    database: url.pathname.slice(1),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    sslmode: 'disable',
    allow_writes: writes,
  })
  return {
    http: {
      enabled: true,
      address: '127.0.0.1:0',
      auth: {
        token_file: join(folder, 'tokens.yaml'),
        user_file: join(folder, 'users.yaml'),
      },
    },
    data_dir: folder,
    secret_file: join(folder, 'secret'),
    llm: { enabled: true, provider: 'anthropic', model: 'claude-script', anthropic_api_key: 'none', anthropic_base_url: model },
    embedding: { enabled: true, provider: 'local' },
    databases: [database('shop', false), database('workshop', true)],
  }
}

function administer(file, ...flags) {
  return execFileSync(join(programs, 'ziggurat-tools'), ['-config', file, ...flags], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

async function startServer(file) {
  const child = spawn(join(programs, 'ziggurat-tools'), ['-config', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  children.push(child)
  const [, address] = await firstLine(child, child.stderr, /(?:listening on http:\/\/|starting server.* address=)([\d.:]+)/)
  return `http://${address.replace('127.0.0.1', 'localhost')}`
}

async function main() {
  const file = join(folder, 'tools.yaml')
  // JSON is YAML.
  model = await startModel()
  writeFileSync(file, JSON.stringify(configuration(await startDatabase(), model.address)), { mode: 0o600 })
  administer(file, '-add-user', '-username', 'alice', '-password', PASSWORD, '-user-note', 'analyst', '-user-admin')
  administer(file, '-add-user', '-username', 'bob', '-password', PASSWORD, '-user-note', 'developer')
  const made = administer(file, '-add-token', '-token-note', 'reports', '-token-database', 'shop', '-token-expiry', '90d')
  const token = /zig_[\w=-]+/.exec(made)?.[0]
  const [command, ...words] = process.argv.slice(2)
  const child = spawn(command, words, {
    stdio: 'inherit',
    env: { ...process.env, CONSOLE_URL: await startServer(file), CONSOLE_PASSWORD: PASSWORD, CONSOLE_TOKEN: token },
  })
  const [code] = await once(child, 'exit')
  return code ?? 1
}

// The database ends when its input does, the server when it is told to.
async function stop() {
  for (const child of children.reverse()) {
    if (child.exitCode !== null) continue
    const gone = once(child, 'exit')
    if (child.stdin) child.stdin.end()
    else child.kill()
    await gone
  }
  model?.stop()
  rmSync(folder, { recursive: true, force: true })
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await stop()
}
