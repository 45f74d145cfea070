// The TypeScript SDK, version 2, with assertions of an identity provider in place of a page.

import assert from "node:assert/strict";

import { load } from "../load.mjs";
import { call, expire, query } from "./provider.mjs";

const sdk = await load("@modelcontextprotocol/client");
const { Client, CrossAppAccessProvider, StreamableHTTPClientTransport } = sdk;

const url = new URL(process.env.INTEROP_URL);
const clientId = process.env.INTEROP_CLIENT_ID;
const assertion = async ({ authorizationServerUrl, resourceUrl, scope, fetchFn }) => {
  const granted = await sdk.discoverAndRequestJwtAuthGrant({
    idpUrl: process.env.INTEROP_IDP,
    audience: authorizationServerUrl,
    resource: resourceUrl,
    idToken: process.env.INTEROP_SIGNED_IN,
    clientId,
    scope,
    fetchFn,
  });
  return granted.jwtAuthGrant;
};
const authProvider = new CrossAppAccessProvider({
  assertion,
  clientId,
  clientSecret: process.env.INTEROP_CLIENT_SECRET,
  expectedIssuer: url.origin,
});
const client = new Client({ name: "assertion", version: "1" });
await client.connect(new StreamableHTTPClientTransport(url, { authProvider }));
await call(client, query);
for (let expiry = 0; expiry < 3; expiry += 1) {
  const before = authProvider.tokens();
  expire();
  await call(client, query);
  assert.notEqual(authProvider.tokens().access_token, before.access_token);
  assert.equal(authProvider.tokens().refresh_token, undefined);
}
await client.close();
