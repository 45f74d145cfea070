// Runs a command with a database, `ziggurat-tools` with accounts and again with browser sign-in, `ziggurat-rag`
// with and without tokens, and their addresses in the environment.
// `node with-server.mjs COMMAND…`
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startModel } from './model.mjs'

const PATIENCE = 60_000 // milliseconds for a program to start
const PASSWORD = 'a password of many words'
const programs = process.env.CONSOLE_PROGRAMS
const folder = mkdtempSync(join(tmpdir(), `console-${process.pid}-`))
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
    ...(writes && { preview: { mode: 'offer' } }),
  })
  return {
    http: {
      enabled: true,
      address: '127.0.0.1:0',
      auth: {
        token_file: join(folder, 'tokens.yaml'),
        user_file: join(folder, 'users.yaml'),
        // All tests fail to sign in from one address.
        rate_limit_max_attempts: 100,
      },
    },
    data_dir: folder,
    secret_file: join(folder, 'secret'),
    llm: { enabled: true, provider: 'anthropic', model: 'claude-script', anthropic_api_key: 'none', anthropic_base_url: model },
    embedding: { enabled: true, provider: 'local' },
    audit: { file: join(folder, 'audit.jsonl') },
    // Each test signs in anew, and two files of them run at once.
    limits: { max_sessions_per_user: 200 },
    databases: [database('shop', false), database('workshop', true)],
  }
}

// The server with browser sign-in has accounts of its own, since its pages set up second factors.
function signInConfiguration(url, model) {
  const { databases, http, ...rest } = configuration(url, model)
  const home = join(folder, 'sign-in')
  const auth = {
    user_file: join(folder, 'sign-in-users.yaml'),
    oauth: { enabled: true, device_clients: ['tv'], clients: [{ id: 'tv', name: 'Television', redirect_uris: ['http://127.0.0.1/'] }] },
  }
  const { llm: _llm, embedding: _embedding, audit: _audit, ...others } = rest
  return { ...others, databases, data_dir: home, http: { ...http, auth } }
}

// Starts it, and returns its address.
async function startSignIn(url, model) {
  const file = join(folder, 'sign-in.yaml')
  writeFileSync(file, JSON.stringify(signInConfiguration(url, model)), { mode: 0o600 })
  for (const name of ['alice', 'bob', 'carol', 'emil']) administer(file, ['-add-user', '-username', name, '-password', PASSWORD, '-user-note', ''])
  administer(file, ['-add-user', '-username', 'dora', '-password', PASSWORD, '-user-note', '', '-user-admin'])
  return startServer('ziggurat-tools', file, 'stderr')
}

function administer(file, flags, program = 'ziggurat-tools') {
  return execFileSync(join(programs, program), ['-config', file, ...flags], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

// `log` is the stream that the program writes its log to.
async function startServer(program, file, log) {
  const stdio = log === 'stdout' ? ['ignore', 'pipe', 'inherit'] : ['ignore', 'ignore', 'pipe']
  const child = spawn(join(programs, program), ['-config', file], { stdio })
  children.push(child)
  const [, address] = await firstLine(child, child[log], /(?:listening on http:\/\/|starting server.* address=)([\d.:]+)/)
  return `http://${address.replace('127.0.0.1', 'localhost')}`
}

// Three pipelines over one table: one quotes, one has the scripted model, one shares no passages.
function pipelines(url, model, server) {
  const database = {
    host: url.hostname,
    port: Number(url.port || 5432),
    database: url.pathname.slice(1),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    ssl_mode: 'disable',
  }
  const keyFile = join(folder, 'anthropic-key')
  writeFileSync(keyFile, 'none', { mode: 0o600 })
  const pipeline = (name, description, change) => ({
    name,
    description,
    database,
    tables: [{ table: 'handbook', text_column: 'content', vector_column: 'embedding', id_column: 'id', title_column: 'title', url_column: 'url' }],
    embedding_llm: { provider: 'local' },
    rag_llm: { provider: 'anthropic', model: 'claude-script', base_url: model },
    allow_include_sources: true,
    ...change,
  })
  return {
    server: { listen_address: '127.0.0.1', ...server },
    api_keys: { anthropic: keyFile },
    pipelines: [
      pipeline('handbook', 'The handbook of the shop', { rag_llm: { provider: 'local' }, ingest: { database } }),
      pipeline('model', '<img src=x onerror=alert(1)> with a model', { allow_debug: true }),
      pipeline('closed', 'Shares nothing', { allow_include_sources: false }),
    ],
  }
}

// Returns a port that is free now: the server takes no port of its own choice.
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

// Loads the handbook, and starts a server that needs no token and one that does.
async function startRag(url, model) {
  const write = (name, server) => {
    const file = join(folder, name)
    writeFileSync(file, JSON.stringify(pipelines(url, model, server)), { mode: 0o600 })
    return file
  }
  const open = write('rag.yaml', { port: await freePort() })
  const closed = write('rag-auth.yaml', { port: await freePort(), auth: { token_file: join(folder, 'rag-tokens.yaml') } })
  const handbook = fileURLToPath(new URL('handbook.jsonl', import.meta.url))
  execFileSync(join(programs, 'ziggurat-rag'), ['ingest', '-pipeline', 'handbook', '-config', open, handbook], { stdio: ['ignore', 'ignore', 'inherit'] })
  const token = tokenIn(administer(closed, ['-add-token', '-token-note', 'pages', '-token-expiry', '90d'], 'ziggurat-rag'))
  return {
    CONSOLE_RAG_URL: await startServer('ziggurat-rag', open, 'stdout'),
    CONSOLE_RAG_AUTH_URL: await startServer('ziggurat-rag', closed, 'stdout'),
    CONSOLE_RAG_TOKEN: token,
  }
}

const tokenIn = (said) => /zig_[\w=-]+/.exec(said)?.[0]

async function main() {
  const file = join(folder, 'tools.yaml')
  // JSON is YAML.
  model = await startModel()
  const url = await startDatabase()
  writeFileSync(file, JSON.stringify(configuration(url, model.address)), { mode: 0o600 })
  administer(file, ['-add-user', '-username', 'alice', '-password', PASSWORD, '-user-note', 'analyst', '-user-admin'])
  administer(file, ['-add-user', '-username', 'bob', '-password', PASSWORD, '-user-note', 'developer'])
  administer(file, ['-add-user', '-username', 'carol', '-password', PASSWORD, '-user-note', 'reader'])
  const made = administer(file, ['-add-token', '-token-note', 'reports', '-token-database', 'shop', '-token-expiry', '90d'])
  const rag = await startRag(url, model.address)
  const signIn = await startSignIn(url, model.address)
  const [command, ...words] = process.argv.slice(2)
  const child = spawn(command, words, {
    stdio: 'inherit',
    env: { ...process.env, CONSOLE_URL: await startServer('ziggurat-tools', file, 'stderr'), CONSOLE_PASSWORD: PASSWORD, CONSOLE_TOKEN: tokenIn(made), CONSOLE_SIGN_IN_URL: signIn, ...rag },
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
