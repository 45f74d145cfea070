// A person with a browser: goes to the addresses that clients open, signs in, and allows each client.
//
// Prints its own address. `POST /` has an address to go to; the answer comes before the page does, like
// the end of a command that opens a browser. `GET /` returns how often each client opened it, and the
// problems.

import { createServer } from "node:http";
import { once } from "node:events";
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

const require = createRequire(`${process.env.INTEROP_MODULES}/anchor.js`);
const { chromium } = require("playwright-core");
const { name, password } = JSON.parse(process.env.INTEROP_PERSON);

const PATIENCE = 60_000;

const browser = await chromium.launch({
  executablePath: process.env.INTEROP_CHROMIUM,
  args: ["--no-sandbox"],
});
const opened = {};
const problems = [];
const visits = new Set();

async function visit(address) {
  // A window of its own: another client is another person at another machine.
  const context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  page.on("console", (message) => {
    if (/Content.Security.Policy/i.test(message.text())) problems.push(message.text());
  });
  try {
    const { searchParams } = new URL(address);
    await page.goto(address);
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    const client = (await page.locator("main strong").first().textContent()).trim();
    opened[client] = (opened[client] ?? 0) + 1;
    const asks = page.getByText("asks for this.");
    // The button is the last part of the page.
    await page.getByRole("button", { name: "Allow" }).waitFor();
    if (await asks.isVisible()) await page.getByLabel("May change data").check();
    const answered = arrival(page, searchParams.get("redirect_uri"));
    await page.getByRole("button", { name: "Allow" }).click();
    await answered;
  } catch (error) {
    problems.push(`${address}: ${error.stack}\n${await page.content().catch(String)}`);
  } finally {
    await context.close();
  }
}

// Waits until the client has answered at its address. One client listens there only after the command
// that opens the browser has ended: then a person loads the page again.
async function arrival(page, redirect) {
  const isThere = (request) => request.url().startsWith(redirect);
  const failed = page.waitForEvent("requestfailed", isThere).then((request) => request.url());
  const isAnswer = (response) => isThere(response.request());
  const answer = page.waitForEvent("response", isAnswer).then(() => undefined);
  failed.catch(() => undefined);
  answer.catch(() => undefined);
  const again = await Promise.race([failed, answer]);
  for (const end = Date.now() + PATIENCE; again && Date.now() < end; ) {
    if (await page.goto(again).then(() => true, () => false)) return;
  }
}

const server = createServer(async (request, response) => {
  if (request.method === "POST") {
    const ended = visit(await text(request)).finally(() => visits.delete(ended));
    visits.add(ended);
    response.writeHead(202).end();
  } else {
    await Promise.all(visits);
    response.end(JSON.stringify({ opened, problems }));
  }
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
console.log(`http://127.0.0.1:${server.address().port}`);
// Standard input ends with the process that started this one.
process.stdin.resume().on("end", async () => {
  server.close();
  await browser.close();
  process.exit();
});
