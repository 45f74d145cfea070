"use strict";
const byId = (id) => document.getElementById(id);
const make = (tag, name, text) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
};

/* The token of the caller, if the server wants one. It is forgotten with the page. */
let token = "";
const send = (path, options = {}) => {
  const headers = { ...options.headers };
  if (token) headers.authorization = `Bearer ${token}`;
  return fetch(path, { ...options, headers });
};

/* What the server has of its own to say about a failure, or what can be said without it. */
class Failure extends Error {}
async function refusal(response) {
  const body = await response.json().catch(() => undefined);
  const { code, message } = body?.error ?? {};
  return new Failure(message ? `${message} (${code})` : `The server answered with status ${response.status}.`);
}
const reason = (error) =>
  error instanceof Failure ? error.message : "The server could not be reached, or the connection broke off.";

/* Questions that were answered, and the pipeline they went to: the conversation so far. */
/* More than these would only be cut off somewhere further on. */
const MEMORY = 40;
let history = [];
let descriptions = new Map();
let running;

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      if (frame.startsWith("data: ")) yield JSON.parse(frame.slice("data: ".length));
    }
  }
}

function sourceList(sources) {
  const list = make("ol", "sources");
  /* No scores: what they count differs from pipeline to pipeline. The order is what they say. */
  sources.forEach(({ id, content }, at) => {
    const item = make("li");
    const entry = make("details");
    const head = make("summary", undefined, `${at + 1}. ${id ?? "without a name"}`);
    entry.append(head, make("div", "text", content));
    item.append(entry);
    list.append(item);
  });
  return list;
}

async function tell(name, body, signal, turn) {
  const response = await send(`/v1/pipelines/${encodeURIComponent(name)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw await refusal(response);
  if (!body.stream) {
    const { answer, sources, notice, tokens_used: tokens } = await response.json();
    turn.answer.textContent = answer;
    const said = sources
      ? (sources.length === 1 ? "One source." : `${sources.length} sources, best first.`)
      : (notice ?? "No sources: nothing was found.");
    turn.entry.append(make("p", "quiet", `${said} ${tokens} tokens used.`));
    if (sources) turn.entry.append(sourceList(sources));
    return;
  }
  for await (const event of events(response)) {
    if (event.type === "chunk") turn.answer.append(event.content);
    else if (event.type === "done") return;
    else if (event.type === "error") throw new Failure(event.error);
  }
  throw new Failure("The answer broke off before its end.");
}

function begin(query) {
  const entry = make("article");
  const answer = make("div", "answer");
  answer.setAttribute("aria-live", "polite");
  answer.setAttribute("aria-busy", "true");
  const state = make("p", "quiet", "Searching and reading");
  entry.append(make("h2", undefined, query), state, answer);
  byId("turns").prepend(entry);
  return { entry, answer, state };
}

function request(query) {
  const body = { query };
  if (byId("sources").checked) body.include_sources = true;
  else body.stream = true;
  const top = byId("top").valueAsNumber;
  if (top > 0) body.top_n = Math.trunc(top);
  if (byId("vectors").checked) body.disable_hybrid = true;
  if (byId("memory").checked && history.length) body.messages = history.slice(-MEMORY);
  return body;
}

async function ask() {
  const query = byId("query").value;
  const name = byId("pipeline").value;
  if (running || !name || !query.trim()) return;
  running = new AbortController();
  const { signal } = running;
  byId("ask").disabled = true;
  byId("stop").disabled = false;
  const turn = begin(query);
  try {
    await tell(name, request(query), signal, turn);
    turn.state.remove();
    history = [...history, { role: "user", content: query },
      { role: "assistant", content: turn.answer.textContent }];
    byId("query").value = "";
  } catch (error) {
    const words = signal.aborted ? "Stopped." : reason(error);
    const said = make("p", signal.aborted ? "quiet" : "bad", words);
    if (!signal.aborted) said.setAttribute("role", "alert");
    turn.state.replaceWith(said);
  } finally {
    turn.answer.setAttribute("aria-busy", "false");
    running = undefined;
    byId("ask").disabled = false;
    byId("stop").disabled = true;
    byId("query").focus();
  }
}

function clear() {
  running?.abort();
  history = [];
  byId("turns").replaceChildren();
}

async function check() {
  const place = byId("health");
  place.replaceChildren(make("p", "quiet", "Asking every provider once"));
  try {
    const response = await send("/v1/health");
    if (!response.ok) throw await refusal(response);
    const { status, pipelines = [] } = await response.json();
    const lines = pipelines.flatMap(({ name, embedding, completion, search }) =>
      [["embedding", embedding], ["completion", completion], ["search", search]]
        .filter(([, side]) => side?.error)
        .map(([kind, side]) => make("p", "bad", `${name}, ${kind}: ${side.error}`)));
    place.replaceChildren(make("p", undefined, `Providers: ${status}.`), ...lines);
  } catch (error) {
    place.replaceChildren(make("p", "bad", reason(error)));
  }
}

function describe() {
  byId("description").textContent = descriptions.get(byId("pipeline").value) ?? "";
}

async function start() {
  const response = await send("/v1/pipelines");
  byId("access").hidden = response.status !== 401;
  if (!response.ok) throw await refusal(response);
  const { pipelines } = await response.json();
  descriptions = new Map(pipelines.map(({ name, description }) => [name, description]));
  byId("pipeline").replaceChildren(...pipelines.map(({ name }) => make("option", undefined, name)));
  byId("pipeline").disabled = byId("ask").disabled = pipelines.length === 0;
  byId("about").textContent = pipelines.length
    ? "Answers come from what the tables of a pipeline hold."
    : "This server has no pipelines.";
  describe();
}

byId("form").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
byId("query").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); ask(); }
});
byId("stop").addEventListener("click", () => running?.abort());
byId("clear").addEventListener("click", clear);
byId("check").addEventListener("click", check);
/* Another pipeline searches other tables: what was said before is not about them. */
byId("pipeline").addEventListener("change", () => { clear(); describe(); });
const look = () => start().catch((error) => { byId("about").textContent = reason(error); });
byId("access").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value.trim();
  look();
});
look();
