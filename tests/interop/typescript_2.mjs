// The second TypeScript client: asking for the newest revision first, and opening in the old way.

import assert from "node:assert/strict";

import { load } from "./load.mjs";
import { door, isModern, negotiates, talk } from "./talk.mjs";

const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const modes = ["auto", "legacy"];
if (negotiates || !door.url) modes.push({ pin: "2026-07-28" });
for (const mode of modes) {
  const options = { requestInit: { headers: door.headers } };
  const transport = door.url
    ? new StreamableHTTPClientTransport(new URL(door.url), options)
    : new StdioClientTransport(door);
  const client = new Client(
    { name: "typescript_2", version: "1" },
    { versionNegotiation: { mode } },
  );
  const complaints = [];
  // It reports that it has hung up on the call that was given up.
  const isOwn = (error) => error.name === "AbortError";
  client.onerror = (error) => isOwn(error) || complaints.push(String(error));
  await client.connect(transport);
  await talk(client, (call, options) => client.callTool(call, options), isModern(mode));
  await client.close();
  assert.deepEqual(complaints, []);
}
