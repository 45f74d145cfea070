// The TypeScript SDK, version 2, which checks the issuer in the answer.

import { load } from "../load.mjs";
import { converse } from "./provider.mjs";

const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");

const finish = (transport, returned) => transport.finishAuth(returned);
class Negotiating extends Client {
  constructor(info) {
    super(info, { versionNegotiation: { mode: "auto" } });
  }
}
await converse(Negotiating, StreamableHTTPClientTransport, finish, true);
