// A model that follows a script, with the wire format of Anthropic's Messages API, whole and streamed.
import { createServer } from 'node:http'
import { HOSTILE } from './hostile.mjs'

const text = (words) => ({ type: 'text', text: words })
const use = (input, name = 'query_database') => ({ type: 'tool_use', id: `toolu_${Math.random().toString(36).slice(2)}`, name, input })

const EVENTS_PER_SECOND = 200

// A thousand events: paragraphs, a list, a table and code.
const STORY = 'The **tower** has three steps, and each is `lower` than the next.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sql\nselect 1\n```\n\n'.repeat(52)

// Answers by a word of the question; one for each round of tools.
const SCRIPT = {
  story: [[text(STORY)]],
  earned: [
    [text('I look at the tables first.'), use({ schema_name: 'public' }, 'get_schema_info')],
    [use({ query: 'select category, sum(quantity * price) as revenue from order_items join products on id = product_id group by 1 order by 2 desc' })],
    [text('**Kitchen** earned most.\n\nThat is 42,166.25 in all.\n\n| a | b |\n|---|---|\n| 1 | 2 |')],
  ],
  write: [[use({ query: "update products set name = 'changed' where id = 1" })], [text('The price was left as it is.')]],
  wait: [[use({ query: "select 'asked by a model', pg_sleep(20)" })], [text('It waited.')]],
  // Answers of a pipeline, which gives its passages in the prompt.
  'wash wool': [[text('Wash wool **by hand** in cool water [1] and press it between two towels [1]. Never boil it [9], and `x[0]` is code.')]],
  'the hostile': [[text('It says <img src=x onerror=alert(1)> [1] and ![x](https://198.51.100.1/x.png) [click](https://198.51.100.1/leak).')]],
  'all of it': [[text(HOSTILE.join('\n\n')), use({ query: `select '${HOSTILE.join('\n').replaceAll("'", "''")}' as text` })], [text('That was all.')]],
  inject: [
    [use({ query: 'select left(text, 200) as text from hostile.texts order by id limit 9' })],
    [text('![x](https://198.51.100.1/leak.png) [click](https://198.51.100.1/leak?rows=1) [run](javascript:alert(1))\n\n<img src="https://198.51.100.1/x.png" onerror="alert(1)"><script>alert(1)</script>')],
  ],
}

// Reads the question of the last turn, and how many rounds of tools have followed it.
function stateOf(messages) {
  let rounds = 0
  for (const { role, content } of [...messages].reverse()) {
    if (role !== 'user') continue
    if (Array.isArray(content) && content.some(({ type }) => type === 'tool_result')) rounds += 1
    else return { question: typeof content === 'string' ? content : content.map((block) => block.text ?? '').join(''), rounds }
  }
  return { question: '', rounds }
}

function answerTo(messages) {
  const { question, rounds } = stateOf(messages)
  const [, script] = Object.entries(SCRIPT).find(([word]) => question.includes(word)) ?? ['', [[text('I do not know.')]]]
  return script[Math.min(rounds, script.length - 1)]
}

function events(message) {
  const list = [{ type: 'message_start', message: { ...message, content: [], stop_reason: null } }]
  message.content.forEach((block, index) => {
    const start = block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} }
    list.push({ type: 'content_block_start', index, content_block: start })
    const pieces = block.type === 'text' ? block.text.match(/[\s\S]{1,7}/g) : JSON.stringify(block.input).match(/[\s\S]{1,20}/g)
    for (const piece of pieces) {
      const delta = block.type === 'text' ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece }
      list.push({ type: 'content_block_delta', index, delta })
    }
    list.push({ type: 'content_block_stop', index })
  })
  list.push({ type: 'message_delta', delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } })
  list.push({ type: 'message_stop' })
  return list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

// Sends events one by one, at a steady pace.
function pace(response, list) {
  const began = Date.now()
  let sent = 0
  const timer = setInterval(() => {
    const due = ((Date.now() - began) * EVENTS_PER_SECOND) / 1000
    while (sent < list.length && sent < due) response.write(list[sent++])
    if (sent < list.length && !response.destroyed) return
    clearInterval(timer)
    response.end()
  }, 1000 / EVENTS_PER_SECOND)
}

/** Starts the model; resolves with its address and a function that stops it. */
export function startModel() {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ data: [{ type: 'model', id: 'claude-script', display_name: 'Scripted', created_at: '2026-01-01T00:00:00Z' }], has_more: false, first_id: null, last_id: null }))
      return
    }
    const { messages, model, stream } = JSON.parse(body)
    const content = answerTo(messages)
    const stop = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content, stop_reason: stop, stop_sequence: null, usage: { input_tokens: 100, output_tokens: 20 } }
    response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
    if (stream && content[0].text === STORY) pace(response, events(message))
    else response.end(stream ? events(message).join('') : JSON.stringify(message))
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve({ address: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() }))
  })
}
