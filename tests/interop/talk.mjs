// The conversation of both TypeScript clients.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export const { negotiates = false, ...target } = JSON.parse(process.env.INTEROP_TARGET);
const conversation = JSON.parse(readFileSync(process.env.INTEROP_CONVERSATION, "utf8"));

const ask = {
  "tools/call": (client, params) => client.callTool(params),
  "resources/read": (client, params) => client.readResource(params),
  "prompts/get": (client, params) => client.getPrompt(params),
};

// True if a client in this mode gets the newest revision: `/mcp/v1` has one revision, stdio two.
export const isModern = (mode) => mode !== "legacy" && (negotiates || !target.url);

// `callWith` calls a tool with options, which the two clients take in different arguments.
export async function talk(client, callWith, modern = false) {
  assert.equal(client.getServerVersion().name, "ziggurat-tools");
  // The newest revision has no `ping`.
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
            // The second client replaces one of the codes by that of the newest revision.
      const isExpected = ({ code }) => code === expected || (negotiates && code === -32602);
      await assert.rejects(ask[method](client, params), isExpected);
    }
  }
  await giveUp(client, callWith);
}

// Checks that a cancelled call leaves the connection usable.
async function giveUp(client, callWith) {
  const abort = new AbortController();
  const slow = { name: "query_database", arguments: { query: "SELECT pg_sleep(2)" } };
  const call = callWith(slow, { signal: abort.signal });
  setTimeout(() => abort.abort("enough"), 300);
  await assert.rejects(call);
  const quick = { name: "query_database", arguments: { query: "SELECT 1 AS one" } };
  assert((await client.callTool(quick)).content[0].text.includes("one\n1"));
}
