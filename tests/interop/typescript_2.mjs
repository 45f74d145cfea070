// The TypeScript SDK, version 2, with `server/discover` first, and with `initialize`.

import assert from "node:assert/strict";

import { load } from "./load.mjs";
import { target, isModern, negotiates, talk } from "./talk.mjs";

const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const modes = ["auto", "legacy"];
if (negotiates || !target.url) modes.push({ pin: "2026-07-28" });
for (const mode of modes) {
  const options = { requestInit: { headers: target.headers } };
  const transport = target.url
    ? new StreamableHTTPClientTransport(new URL(target.url), options)
    : new StdioClientTransport(target);
  const client = new Client(
    { name: "typescript_2", version: "1" },
    { versionNegotiation: { mode } },
  );
  const complaints = [];
  // It reports its own cancellation.
  const isOwn = (error) => error.name === "AbortError";
  client.onerror = (error) => isOwn(error) || complaints.push(String(error));
  await client.connect(transport);
  await talk(client, (call, options) => client.callTool(call, options), isModern(mode));
  await client.close();
  assert.deepEqual(complaints, []);
}
