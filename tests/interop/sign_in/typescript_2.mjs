// The TypeScript SDK, version 2, which checks the issuer in the answer.

import { load } from "../load.mjs";
import { converse } from "./provider.mjs";

const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");

await converse(Client, StreamableHTTPClientTransport, (transport, returned) =>
  transport.finishAuth(returned),
);
