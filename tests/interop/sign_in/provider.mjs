// The parts of a client that a host provides to the TypeScript SDKs, and the conversation of both.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";

const name = process.env.INTEROP_CLIENT;
const query = { query: "SELECT name FROM ware WHERE id = 1" };

// Keeps everything in memory, and sends the browser away.
class Provider {
  opened = 0;

  constructor(redirectUrl) {
    this.redirectUrl = redirectUrl;
    this.clientMetadataUrl = process.env.INTEROP_DOCUMENT;
    this.clientMetadata = { client_name: name, redirect_uris: [redirectUrl] };
  }

  state() {
    return "a state of the client";
  }

  clientInformation() {
    return this.client;
  }

  saveClientInformation(client) {
    this.client = client;
  }

  tokens() {
    return this.saved;
  }

  saveTokens(tokens) {
    this.saved = tokens;
  }

  async redirectToAuthorization(address) {
    this.opened += 1;
    await fetch(process.env.INTEROP_BROWSER, { method: "POST", body: String(address) });
  }

  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }

  codeVerifier() {
    return this.verifier;
  }
}

// `Client` and `Transport` are those of an SDK; `finish` gives the parameters of the browser to a
// transport.
export async function converse(Client, Transport, finish) {
  let returned;
  const parameters = new Promise((resolve) => (returned = resolve));
  const server = createServer((request, response) => {
    response.end("Done.");
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    if (pathname === "/callback") returned(searchParams);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const provider = new Provider(`http://localhost:${server.address().port}/callback`);
  const open = () => new Transport(new URL(process.env.INTEROP_URL), { authProvider: provider });

  const first = open();
  await assert.rejects(new Client({ name, version: "1" }).connect(first), /nauthorized/);
  const received = await parameters;
  assert.equal(received.get("state"), provider.state());
  await finish(first, received);
  server.close();
  server.closeAllConnections();

  const client = new Client({ name, version: "1" });
  await client.connect(open());
  await call(client);
  // It refreshes after a refusal, and takes a token with one other letter for an expired one.
  const before = provider.saved;
  const [head, ...rest] = before.access_token;
  provider.saved = { ...before, access_token: (head === "e" ? "f" : "e") + rest.join("") };
  await call(client);
  assert.notEqual(provider.saved.access_token, before.access_token);
  assert.notEqual(provider.saved.refresh_token, before.refresh_token);
  assert.equal(provider.opened, 1);
  await client.close();
}

async function call(client) {
  const result = await client.callTool({ name: "query_database", arguments: query });
  assert(result.content[0].text.includes("kettle"), JSON.stringify(result));
}
