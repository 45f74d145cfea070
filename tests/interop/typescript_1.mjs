// The TypeScript SDK, version 1.

import assert from "node:assert/strict";

import { load } from "./load.mjs";
import { target, talk } from "./talk.mjs";

const sdk = "@modelcontextprotocol/sdk/client";
const { Client } = await load(`${sdk}/index.js`);
const { StdioClientTransport } = await load(`${sdk}/stdio.js`);
const { StreamableHTTPClientTransport } = await load(`${sdk}/streamableHttp.js`);

const options = { requestInit: { headers: target.headers } };
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url), options)
  : new StdioClientTransport(target);
const client = new Client({ name: "typescript_1", version: "1" });
const complaints = [];
client.onerror = (error) => complaints.push(String(error));
await client.connect(transport);
await talk(client, (call, options) => client.callTool(call, undefined, options));
await client.close();
assert.deepEqual(complaints, []);
