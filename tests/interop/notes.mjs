// The TypeScript SDK, version 1, and the example server of the MCP crate.

import assert from "node:assert/strict";

import { load } from "./load.mjs";

const target = JSON.parse(process.env.INTEROP_TARGET);
const sdk = "@modelcontextprotocol/sdk/client";
const { Client } = await load(`${sdk}/index.js`);
const { StreamableHTTPClientTransport } = await load(`${sdk}/streamableHttp.js`);

const connect = async (headers) => {
  const client = new Client({ name: "notes", version: "1" });
  const options = { requestInit: { headers } };
  await client.connect(new StreamableHTTPClientTransport(new URL(target.url), options));
  return client;
};
await assert.rejects(connect({ Authorization: "Bearer another" }), /401|Unauthorized|unknown token/);

const client = await connect(target.headers);
assert.deepEqual(Object.keys(client.getServerCapabilities()), ["tools"]);
const names = (await client.listTools()).tools.map((tool) => tool.name);
assert.deepEqual(names.sort(), ["count", "delete", "list", "read", "write"]);
const call = (name, given) => client.callTool({ name, arguments: given });
await call("write", { name: "tea", text: "green" });
assert.equal((await call("read", { name: "tea" })).content[0].text, "green");
assert((await call("list", {})).structuredContent.names.includes("tea"));
assert.equal((await call("read", { name: 7 })).isError, true);
await client.close();
