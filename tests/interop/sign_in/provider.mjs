// The parts of a client that a host provides to the TypeScript SDKs, and the conversation of both.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const name = process.env.INTEROP_CLIENT;
const change = { query: "UPDATE ware SET price = price RETURNING name" };
export const query = { query: "SELECT name FROM ware WHERE id = 1" };
// The command with which the person leaves the tenant, if there is a tenant.
const leave = process.env.INTEROP_LEAVE && JSON.parse(process.env.INTEROP_LEAVE);
const PATIENCE = 60_000;
// Seconds after which a token has expired.
const LIFETIME = 360;

// Moves the clock of the client and the server behind the end of all access tokens so far.
export function expire() {
  const clock = process.env.FAKETIME_TIMESTAMP_FILE;
  writeFileSync(`${clock}.next`, `+${Number(readFileSync(clock, "utf8")) + LIFETIME}`);
  renameSync(`${clock}.next`, clock);
}

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
// transport. A client that `asksAgain` goes back to the person for a change.
export async function converse(Client, Transport, finish, asksAgain = false) {
  const server = createServer((request, response) => {
    response.end("Done.");
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    if (pathname === "/callback") server.emit("returned", searchParams);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const provider = new Provider(`http://localhost:${server.address().port}/callback`);
  const open = () => new Transport(new URL(process.env.INTEROP_URL), { authProvider: provider });

  // Does what needs the person first.
  const signIn = async (transport, steps) => {
    const returned = once(server, "returned");
    await assert.rejects(steps, /nauthorized/);
    const [parameters] = await returned;
    assert.equal(parameters.get("state"), provider.state());
    await finish(transport, parameters);
  };

  const first = open();
  await signIn(first, () => new Client({ name, version: "1" }).connect(first));
  const client = new Client({ name, version: "1" });
  const transport = open();
  await client.connect(transport);
  await call(client, query);
  for (let expiry = 0; expiry < 3; expiry += 1) {
    const before = provider.saved;
    expire();
    await call(client, query);
    assert.notEqual(provider.saved.access_token, before.access_token);
    assert.notEqual(provider.saved.refresh_token, before.refresh_token);
  }
  assert.equal(provider.opened, 1);
  if (asksAgain) {
    await signIn(transport, () => call(client, change));
    await call(client, change);
    assert.equal(provider.opened, 2);
    assert.match(provider.saved.scope, /mcp:write/);
  }
  if (leave) {
    execFileSync(leave[0], leave.slice(1));
    // A call that is under way at that moment may fail in another way.
    const end = performance.now() + PATIENCE;
    let failure = "";
    while (!/nauthorized|the refresh token is not valid/.test(failure)) {
      assert(performance.now() < end, failure);
      await call(client, query).catch((error) => (failure = String(error)));
    }
  }
  await client.close();
  server.close();
  server.closeAllConnections();
}

export async function call(client, args) {
  const result = await client.callTool({ name: "query_database", arguments: args });
  assert(result.content[0].text.includes("kettle"), JSON.stringify(result));
}
