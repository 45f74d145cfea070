// The TypeScript client: models, an answer, a stream, and errors.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

// Node searches modules next to a script, but these are in the cache.
const require = createRequire(join(process.env.OPENAI_CLIENTS_MODULES, "openai/package.json"));
const { OpenAI } = require("openai");

const text = "Wool is washed by hand in cold water.";
const messages = [
  { role: "user", content: "Hello" },
  { role: "assistant", content: "Good morning." },
  { role: "user", content: [{ type: "text", text: "How is wool washed?" }] },
];
const client = new OpenAI();
const chat = (changed) =>
  client.chat.completions.create({ model: "docs", messages, ...changed });

function checkAnnotation(content, { type, url_citation: cited }) {
  assert.equal(type, "url_citation");
  assert.deepEqual([cited.title, cited.url], ["Wool", "https://example.com/wool"]);
  // Positions are in characters, and not in UTF-16 units.
  const mark = [...content].slice(cited.start_index, cited.end_index).join("");
  assert.equal(mark, "[1]");
}

const models = [];
for await (const model of client.models.list()) models.push(model.id);
assert.deepEqual(models, ["docs"]);
assert.equal((await client.models.retrieve("docs")).object, "model");

const { choices, usage } = await chat({ temperature: 0.2 });
assert(choices[0].message.content.includes(text), JSON.stringify(choices));
assert.equal(choices[0].finish_reason, "stop");
assert.equal(usage.total_tokens, 0);
checkAnnotation(choices[0].message.content, choices[0].message.annotations[0]);

const chunks = [];
const options = { stream: true, stream_options: { include_usage: true } };
for await (const chunk of await chat(options)) chunks.push(chunk);
const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
const streamed = deltas.map(({ content }) => content ?? "").join("");
assert(streamed.includes(text), streamed);
checkAnnotation(streamed, deltas.flatMap(({ annotations }) => annotations ?? [])[0]);
assert.equal(chunks.at(-1).usage.total_tokens, 0);

await assert.rejects(chat({ model: "none" }), { status: 404, code: "model_not_found" });
await assert.rejects(chat({ n: 2 }), { status: 400, param: "n" });
