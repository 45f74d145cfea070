// What both TypeScript clients say, once they are connected.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export const door = JSON.parse(process.env.INTEROP_DOOR);
const conversation = JSON.parse(readFileSync(process.env.INTEROP_CONVERSATION, "utf8"));

const ask = {
  "tools/call": (client, params) => client.callTool(params),
  "resources/read": (client, params) => client.readResource(params),
  "prompts/get": (client, params) => client.getPrompt(params),
};

// `callWith` makes a call with options, which the two take in different places.
export async function talk(client, callWith) {
  assert.equal(client.getServerVersion().name, "ziggurat-tools");
  await client.ping();

  const listed = (await client.listTools()).tools.map((tool) => tool.name);
  for (const name of conversation.tools) assert(listed.includes(name), `${name} in ${listed}`);
  for (const call of [...conversation.calls, ...conversation.unlisted_calls]) {
    const result = await client.callTool({ name: call.tool, arguments: call.arguments });
    const said = JSON.stringify([call, result]);
    assert.equal(result.isError ?? false, call.isError ?? false, said);
    for (const part of call.text) assert(result.content[0].text.includes(part), said);
  }

  const uris = (await client.listResources()).resources.map((resource) => resource.uri);
  assert.deepEqual((await client.listResourceTemplates()).resourceTemplates, []);
  for (const { uri, members } of conversation.reads) {
    assert(uris.includes(uri), `${uri} in ${uris}`);
    const { contents } = await client.readResource({ uri });
    for (const member of members) assert(member in JSON.parse(contents[0].text), member);
  }
  const names = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
  for (const get of conversation.prompts) {
    assert(names.includes(get.name), `${get.name} in ${names}`);
    assert.equal((await client.getPrompt(get)).messages[0].role, "user");
  }

  for (const { method, params, code, typed } of conversation.refusals) {
    if (typed) await assert.rejects(ask[method](client, params), (error) => error.code === code);
  }
  await giveUp(client, callWith);
}

// A call that was given up leaves the connection as it was.
async function giveUp(client, callWith) {
  const abort = new AbortController();
  const slow = { name: "query_database", arguments: { query: "SELECT pg_sleep(20)" } };
  const call = callWith(slow, { signal: abort.signal });
  setTimeout(() => abort.abort("enough"), 300);
  await assert.rejects(call);
  const quick = { name: "query_database", arguments: { query: "SELECT 1 AS one" } };
  assert((await client.callTool(quick)).content[0].text.includes("one\n1"));
}
