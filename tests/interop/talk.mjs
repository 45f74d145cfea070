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
  assert.equal(client.getServerVersion().name, conversation.server);
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

  if (conversation.reads.length) await readResources(client, modern);
  if (conversation.prompts.length) await getPrompts(client);

  for (const { method, params, code, legacy, typed } of conversation.refusals) {
    const expected = modern ? -32602 : negotiates ? legacy : code;
    if (typed) {
      // The second client replaces one of the codes by that of the newest revision.
      const isExpected = ({ code }) => code === expected || (negotiates && code === -32602);
      await assert.rejects(ask[method](client, params), isExpected);
    }
  }
  if (conversation.slow) await giveUp(client, callWith);
}

async function readResources(client, modern) {
  const uris = (await client.listResources()).resources.map((resource) => resource.uri);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length > 0, negotiates || modern);
  for (const { uri, members } of conversation.reads) {
    assert(uris.includes(uri), `${uri} in ${uris}`);
    const { contents } = await client.readResource({ uri });
    for (const member of members) assert(member in JSON.parse(contents[0].text), member);
  }
}

async function getPrompts(client) {
  const names = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
  for (const get of conversation.prompts) {
    assert(names.includes(get.name), `${get.name} in ${names}`);
    assert.equal((await client.getPrompt(get)).messages[0].role, "user");
  }
}

// Checks that a cancelled call leaves the connection usable.
async function giveUp(client, callWith) {
  const abort = new AbortController();
  const { slow, calls: [quick] } = conversation;
  const call = callWith({ name: slow.tool, arguments: slow.arguments }, { signal: abort.signal });
  setTimeout(() => abort.abort("enough"), 300);
  await assert.rejects(call);
  const result = await client.callTool({ name: quick.tool, arguments: quick.arguments });
  assert(result.content[0].text.includes(quick.text[0]));
}
