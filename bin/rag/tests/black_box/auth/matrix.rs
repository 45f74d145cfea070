//! Every route with every caller: a pipeline that is not for a caller is like one that was never
//! made.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use ziggurat_black_box::{Answer, FakeIssuer, Postgres};

use super::{PUBLIC_URL, RESOURCE, add_token, names};
use crate::support::{Client, Home, library, pipeline, question, server};

/// The pipelines, each with a name of the same length that no pipeline has.
const PIPELINES: [(&str, &str); 5] = [
    ("all", "alk"),
    ("docs", "dogs"),
    ("ferns", "fernx"),
    ("robots", "robins"),
    ("secret", "sacret"),
];

/// The pipelines that share their documents.
const SHARED: [&str; 2] = ["docs", "robots"];

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Headers of a call of a tool.
const CALL: &str = "content-type: application/json\r\nmcp-protocol-version: 2025-11-25\r\n\
    accept: application/json, text/event-stream\r\n";

/// A caller, and the pipelines that are for it.
struct Caller {
    label: &'static str,
    client: Client,
    sees: &'static [&'static str],
}

impl Caller {
    /// Checks all that lists pipelines.
    fn check_lists(&self) {
        let get = |path: &str| {
            let answer = self.client.get(path);
            assert_eq!(answer.status, 200, "{}: {answer:?}", self.label);
            answer.json()
        };
        for (path, list, key) in [
            ("/v1/pipelines", "pipelines", "name"),
            ("/v1/stats", "pipelines", "name"),
            ("/v1/console", "pipelines", "name"),
            ("/v1/health", "pipelines", "name"),
            ("/v1/models", "data", "id"),
        ] {
            assert_eq!(
                names(&get(path), list, key),
                self.sees,
                "{}: {path}",
                self.label
            );
        }
        assert_eq!(get("/v1/health")["status"], "healthy", "{}", self.label);
        self.check_tools();
        self.check_documents();
    }

    /// Checks the pipelines that the tools offer.
    fn check_tools(&self) {
        let tools = self.list("tools");
        let ask = tools.iter().find(|tool| tool["name"] == "ask_documents");
        let offered = &ask.expect("a tool")["inputSchema"]["properties"]["pipeline"]["enum"];
        match self.sees {
            [_] => assert!(offered.is_null(), "{}: {offered}", self.label),
            several => assert_eq!(*offered, json!(several), "{}", self.label),
        }
    }

    /// Checks the pipelines that have the documents in the list of resources.
    fn check_documents(&self) {
        let documents = self.list("resources");
        let pipelines = documents.iter().map(|document| {
            let uri = document["uri"].as_str().expect("an address");
            let path = uri.strip_prefix("rag://").expect(uri);
            path.split('/').next().expect("a name").to_owned()
        });
        let pipelines: BTreeSet<_> = pipelines.collect();
        let seen = self.sees.iter().filter(|name| SHARED.contains(name));
        assert!(pipelines.iter().eq(seen), "{}: {pipelines:?}", self.label);
    }

    /// Returns a list of the protocol of the tools.
    fn list(&self, of: &str) -> Vec<Value> {
        let method = format!("{of}/list");
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string();
        let answer = self.client.send("POST", "/mcp", CALL, &message);
        let list = answer.json()["result"][of].as_array().cloned();
        list.expect("a list")
    }

    /// Checks that a name leads to the same answers as another that no pipeline has, or not.
    fn check_name(&self, name: &str, invented: &str) {
        let is_seen = self.sees.contains(&name);
        let mut is_different = false;
        for request in requests() {
            let [real, absent] = [name, invented].map(|name| self.answer(&request, name));
            if is_seen {
                is_different |= real != absent;
            } else {
                assert_eq!(real, absent, "{}: {name}: {request:?}", self.label);
            }
        }
        assert_eq!(is_different, is_seen, "{}: {name}", self.label);
    }

    /// Sends a request for a pipeline, and returns the status, headers and body without its name.
    fn answer(&self, request: &Request, name: &str) -> (u16, String, String) {
        let path = request.path.replace("{name}", name);
        let body = request.body.replace("{name}", name);
        let Answer { status, head, body } =
            self.client
                .send(request.method, &path, request.headers, &body);
        let head = head.lines().filter(|line| !line.starts_with("date:"));
        (status, head.collect(), body.replace(name, "{name}"))
    }
}

/// A request in which the name of a pipeline is open.
#[derive(Clone, Debug)]
struct Request {
    method: &'static str,
    path: &'static str,
    headers: &'static str,
    body: String,
}

/// Returns requests of all kinds to all routes that name a pipeline.
fn requests() -> Vec<Request> {
    const ASK: &str = "/v1/pipelines/{name}";
    const CHAT: &str = "/v1/chat/completions";
    const JSON: &str = "content-type: application/json\r\n";
    let text = "What do ferns like?";
    let whole = question(text);
    let streamed = json!({"query": text, "stream": true}).to_string();
    let mut conversation = json!({"model": "{name}",
        "messages": [{"role": "user", "content": text}]});
    let chat = conversation.to_string();
    conversation["stream"] = json!(true);
    let chat_streamed = conversation.to_string();
    conversation["tools"] = json!([{"type": "function"}]);
    let unsupported = conversation.to_string();
    let large = "x".repeat(1 << 21);
    let mut requests = Vec::new();
    for (path, headers, body) in [
        (ASK, JSON, &*whole),
        (ASK, JSON, &streamed),
        (ASK, JSON, "{}"),
        (ASK, JSON, "{"),
        (ASK, JSON, ""),
        (ASK, JSON, &large),
        (ASK, "sec-fetch-site: same-origin\r\n", &whole),
        (CHAT, JSON, &chat),
        (CHAT, JSON, &chat_streamed),
        (CHAT, JSON, &unsupported),
    ] {
        let (method, body) = ("POST", body.to_owned());
        requests.push(Request {
            method,
            path,
            headers,
            body,
        });
    }
    requests.extend(calls());
    for path in [
        ASK,
        "/v1/pipelines/{name}/",
        "/v1/models/{name}",
        "/v1/{name}",
        "/{name}",
    ] {
        for method in METHODS {
            let (headers, body) = ("", String::new());
            requests.push(Request {
                method,
                path,
                headers,
                body,
            });
        }
    }
    requests
}

/// Returns calls of tools, and other messages of their protocol.
fn calls() -> Vec<Request> {
    let text = "What do ferns like?";
    let named = json!({"query": text, "pipeline": "{name}"});
    let mut requests = Vec::new();
    for (called, params) in [
        ("tools/call", tool_call("ask_documents", &named)),
        ("tools/call", tool_call("search_documents", &named)),
        (
            "tools/call",
            tool_call(
                "read_document",
                &json!({"id": "doc-0", "pipeline": "{name}"}),
            ),
        ),
        (
            "tools/call",
            tool_call("list_pipelines", &json!({"pipeline": "{name}"})),
        ),
        ("resources/read", json!({"uri": "rag://{name}/doc-0"})),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/resource", "uri": "rag://{pipeline}/{id}"},
                "argument": {"name": "id", "value": "doc"},
                "context": {"arguments": {"pipeline": "{name}"}},
            }),
        ),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/resource", "uri": "rag://{pipeline}/{id}"},
                "argument": {"name": "pipeline", "value": "{name}"},
            }),
        ),
    ] {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": called, "params": params});
        requests.push(Request {
            method: "POST",
            path: "/mcp",
            headers: CALL,
            body: message.to_string(),
        });
    }
    requests
}

fn tool_call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// Creates a folder with five pipelines, of which four are not for all.
fn home(issuer: &FakeIssuer, postgres: &Postgres) -> (Home, String, String) {
    let home = Home::new();
    let url = &issuer.url;
    let server = server(&format!(
        "  openai_compatible: true\n  auth: {{token_file: {}, issuer: {{url: '{url}', jwks_url: \
         '{url}/keys', public_url: '{PUBLIC_URL}', when_unreachable: accept}}}}\n",
        home.file("tokens.yaml").display()
    ));
    let configuration = |readers: [&str; 2]| {
        let [reader, other] = readers.map(|id| format!("  for: {{tokens: [{id}]}}\n"));
        let shared = "  allow_include_sources: true\n";
        let robot = format!("  for: {{clients: ['client:robot']}}\n{shared}");
        let secret = "  for: {scopes: [secret.read], clients: ['client:robot']}\n";
        let pipelines = [
            ("all", String::new()),
            ("docs", reader + shared),
            ("ferns", other),
            ("robots", robot),
            ("secret", secret.to_owned()),
        ];
        let pipelines = pipelines.map(|(name, more)| pipeline(name, postgres, &more));
        format!(
            "{server}mcp: {{list_documents: true}}\npipelines:\n{}",
            pipelines.concat()
        )
    };
    home.configure(&configuration(["unknown", "unknown"]));
    let (reader, reader_id) = add_token(&home, "never");
    let (other, other_id) = add_token(&home, "30d");
    home.configure(&configuration([&reader_id, &other_id]));
    (home, reader, other)
}

#[test]
fn a_pipeline_that_is_not_for_a_caller_is_like_one_that_was_never_made() {
    let issuer = FakeIssuer::start();
    let postgres = library();
    let (home, reader, other) = home(&issuer, &postgres);
    let (_program, stranger) = home.serve();
    let client_of =
        |subject: &str, claims| stranger.bearing(&issuer.token(RESOURCE, subject, &claims));
    let callers = [
        Caller {
            label: "the token that docs is for",
            client: stranger.bearing(&reader),
            sees: &["all", "docs"],
        },
        Caller {
            label: "the token that ferns is for",
            client: stranger.bearing(&other),
            sees: &["all", "ferns"],
        },
        Caller {
            label: "a client with the scope",
            client: client_of("ann", json!({"scope": "secret.read other"})),
            sees: &["all", "secret"],
        },
        Caller {
            label: "the client that robots and secret are for",
            client: client_of("bob", json!({"client_id": "robot"})),
            sees: &["all", "robots", "secret"],
        },
        Caller {
            label: "another client",
            client: client_of("robot", json!({"scope": "secret", "client_id": "rob"})),
            sees: &["all"],
        },
    ];
    for caller in &callers {
        caller.check_lists();
        for (name, invented) in PIPELINES {
            caller.check_name(name, invented);
        }
    }
    let description = stranger.get("/v1/openapi.json").body;
    for (name, _) in PIPELINES {
        assert!(!description.contains(&format!("\"{name}\"")), "{name}");
        let caller = Caller {
            label: "no token",
            client: stranger.clone(),
            sees: &[],
        };
        caller.check_name(name, "other");
    }
    let health = stranger.get("/v1/health");
    assert_eq!(
        (health.status, &*health.body),
        (200, "{\"status\":\"healthy\"}\n")
    );
}
