#!/usr/bin/env node
// Runs the program for this machine. Arguments, standard streams, signals and the exit code pass unchanged.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { isatty } from 'node:tty'

const platform = `${process.platform}-${process.arch}`

function find() {
  try {
    return createRequire(import.meta.url).resolve(`@scope@/@program@-${platform}/bin/@program@`)
  } catch {
    console.error(`@program@ is not available for ${platform}; see @home@`)
    process.exit(1)
  }
}

const running = spawn(find(), process.argv.slice(2), { stdio: 'inherit' })
// A terminal sends these two to the program itself. `process.stdin` would make the shared pipe non-blocking.
const fromTerminal = isatty(0) ? ['SIGINT', 'SIGQUIT'] : []
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM']) {
  process.on(signal, () => fromTerminal.includes(signal) || running.kill(signal))
}
running.on('error', (error) => {
  console.error(`@program@ does not start: ${error.message}`)
  process.exit(1)
})
running.on('exit', (code, signal) => {
  if (signal === null) process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
