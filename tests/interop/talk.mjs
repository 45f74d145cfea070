// What both TypeScript clients say, once they are connected.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export const { negotiates = false, ...door } = JSON.parse(process.env.INTEROP_DOOR);
const conversation = JSON.parse(readFileSync(process.env.INTEROP_CONVERSATION, "utf8"));

const ask = {
  "tools/call": (client, params) => client.callTool(params),
  "resources/read": (client, params) => client.readResource(params),
  "prompts/get": (client, params) => client.getPrompt(params),
};

// What a client that opens so ends up with: `/mcp/v1` has one revision, and lines have two.
export const isModern = (mode) => mode !== "legacy" && (negotiates || !door.url);

// `callWith` makes a call with options, which the two take in different places.
export async function talk(client, callWith, modern = false) {
  assert.equal(client.getServerVersion().name, "ziggurat-tools");
  // There is no such thing any more.
  if (!modern) await client.ping();

  const listed = (await client.listTools()).tools.map((tool) => tool.name);
  for (const name of conversation.tools) assert(listed.includes(name), `${name} in ${listed}`);
  for (const call of [...conversation.calls, ...conversation.unlisted_calls]) {
    const result = await client.callTool({ name: call.tool, arguments: call.arguments });
    const said = JSON.stringify([call, result]);
    assert.equal(result.isError ?? false, call.isError ?? false, said);
    for (const part of call.text) assert(result.content[0].text.includes(part), said);
  }

  const uris = (await client.listResources()).resources.map((resource) => resource.uri);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length > 0, negotiates || modern);
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

  for (const { method, params, code, legacy, typed } of conversation.refusals) {
    const expected = modern ? -32602 : negotiates ? legacy : code;
    if (typed) {
      // The second client gives one of the codes in the words of the newest revision.
      const isExpected = ({ code }) => code === expected || (negotiates && code === -32602);
      await assert.rejects(ask[method](client, params), isExpected);
    }
  }
  await giveUp(client, callWith);
}

// A call that was given up leaves the connection as it was.
async function giveUp(client, callWith) {
  const abort = new AbortController();
  const slow = { name: "query_database", arguments: { query: "SELECT pg_sleep(2)" } };
  const call = callWith(slow, { signal: abort.signal });
  setTimeout(() => abort.abort("enough"), 300);
  await assert.rejects(call);
  const quick = { name: "query_database", arguments: { query: "SELECT 1 AS one" } };
  assert((await client.callTool(quick)).content[0].text.includes("one\n1"));
}
