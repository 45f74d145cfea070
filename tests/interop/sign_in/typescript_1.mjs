// The TypeScript SDK, version 1.

import { load } from "../load.mjs";
import { converse } from "./provider.mjs";

const sdk = "@modelcontextprotocol/sdk/client";
const { Client } = await load(`${sdk}/index.js`);
const { StreamableHTTPClientTransport } = await load(`${sdk}/streamableHttp.js`);

await converse(Client, StreamableHTTPClientTransport, (transport, returned) =>
  transport.finishAuth(returned.get("code")),
);
