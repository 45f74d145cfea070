// Statements of users without a page, and what PostgreSQL runs.
import { base, password, token } from './browser.mjs'

/** Starts a statement as a user; `end` resolves with the answer, as text. */
export const runAs = async (user, sql) => ({ end: answerTo(await sessionOf(user), sql) })

/** Returns whether PostgreSQL runs another statement that has these words. */
export async function isRunning(words) {
  // The words of the answer are not in the statement that asks for them.
  const sql = `select 'still ' || 'running' from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like '%${words}%'`
  return (await answerTo(token, sql)).includes('still running')
}

async function answerTo(bearer, sql) {
  const headers = { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' }
  const response = await fetch(`${base}/api/query`, { method: 'POST', headers, body: JSON.stringify({ database: 'shop', sql, timeout_ms: 25_000 }) })
  return response.text()
}

async function sessionOf(user) {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'authenticate_user', arguments: { username: user, password } } }
  const answer = await fetch(`${base}/mcp/v1`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(call) })
  return JSON.parse((await answer.json()).result.content[0].text).session_token
}
