//! Tests of toolsets: which names each caller sees, over every path and method.

mod matrix;

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    revisions::modern,
    support::{Answer, Client, Home, Postgres, Program, StdioClient, records, records::PASSWORD},
};

const DEFINITIONS: &str = r"
prompts:
  - {name: analyze-table, messages: [{role: user, content: {type: text, text: Look}}]}
  - {name: zzz, messages: [{role: user, content: {type: text, text: plain}}]}
resources:
  - {uri: custom://people, name: People, type: sql, sql: SELECT id FROM people}
  - {uri: custom://limits, name: Limits, type: static, data: {max: 100}}
  - {uri: custom://word, name: Word, mimeType: text/plain, type: static, data: hello}
";

const TOOLSETS: &str = r#"toolsets:
- name: analyst
  description: Reading people
  tools: [query_database, "get_*", read_resource, search_schema, count_rows]
  resources: [custom://people, pg://main/public/people]
  prompts: [explore_database, "analy*"]
  rest: [databases]
  for: {tokens: [token-1], users: [alice], local: true}
- name: keeper
  tools: [execute_explain, "list_*"]
  resources: [custom://limits, "pg://main/*"]
  prompts: [zzz]
  rest: [conversations, library, llm, compact, query, activity]
  for: {users: [alice, bob]}
"#;

/// Names, and the sets that have them.
type Names = &'static [(&'static str, &'static [&'static str])];

const TOOLS: Names = &[
    ("query_database", &["analyst"]),
    ("get_schema_info", &["analyst"]),
    ("read_resource", &["analyst"]),
    ("search_schema", &["analyst"]),
    ("execute_explain", &["keeper"]),
    ("list_databases", &["keeper"]),
    // Switched off.
    ("count_rows", &[]),
    ("similarity_search", &[]),
    ("generate_embedding", &[]),
    ("search_knowledgebase", &[]),
];

const RESOURCES: Names = &[
    ("custom://people", &["analyst"]),
    ("custom://limits", &["keeper"]),
    ("custom://word", &[]),
    ("pg://system_info", &[]),
    ("pg://main/public/people", &["analyst", "keeper"]),
    ("pg://main/public/orders", &["keeper"]),
    ("pg://main/public/orders/id", &["keeper"]),
    ("pg://two/public/people", &[]),
];

const PROMPTS: Names = &[
    ("explore-database", &["analyst"]),
    ("analyze-table", &["analyst"]),
    ("zzz", &["keeper"]),
    ("design-schema", &[]),
    ("diagnose-query-issue", &[]),
    ("setup-semantic-search", &[]),
];

/// Requests to the areas of `/api/`.
const AREAS: Names = &[
    ("/api/databases", &["analyst"]),
    ("/api/databases/select", &["analyst"]),
    ("/api/conversations", &["keeper"]),
    ("/api/conversations/7", &["keeper"]),
    ("/api/library", &["keeper"]),
    ("/api/library/7", &["keeper"]),
    ("/api/llm/providers", &["keeper"]),
    ("/api/llm/models", &["keeper"]),
    ("/api/llm/chat", &["keeper"]),
    ("/api/chat/compact", &["keeper"]),
    ("/api/query", &["keeper"]),
    ("/api/activity", &["keeper"]),
    ("/api/activity/0/cancel", &["keeper"]),
];

/// A server, and its callers with the names of their sets.
struct Server {
    postgres: Postgres,
    home: Home,
}

type Caller = (&'static str, Client, &'static [&'static str]);

impl Server {
    fn new(toolsets: &str) -> Self {
        let sql = "CREATE TABLE people AS SELECT 1 AS id; CREATE TABLE orders AS SELECT 2 AS id";
        let (postgres, home) = (Postgres::with(sql), Home::new());
        fs::write(home.file("own.yaml"), DEFINITIONS).expect("written");
        let tokens = [records::token(1, "one", &[]), records::token(2, "two", &[])];
        home.replace(&home.tokens(), &records::tokens(&tokens));
        let users = ["alice", "bob", "carol"].map(|name| records::user(name, &[]));
        home.replace(&home.users(), &records::users(&users));
        let server = Self { postgres, home };
        server.configure(toolsets);
        server
    }

    fn configure(&self, toolsets: &str) {
        let entries = ["main", "two"].map(|name| self.postgres.entry(name));
        self.home.configure(&format!(
            "databases:\n{}custom_definitions_path: {}\n\
             builtins: {{tools: {{count_rows: false}}}}\naudit: {{file: audit.jsonl}}\n\
             llm: {{enabled: true, anthropic_api_key: x}}\n{toolsets}",
            entries.concat(),
            self.home.file("own.yaml").display(),
        ));
    }

    /// Starts the server, with all its callers over HTTP.
    fn callers(&self) -> (Program, Vec<Caller>) {
        let (program, stranger) = self.home.serve(&[]);
        let user = |name| stranger.logged_in(name, PASSWORD);
        let callers: Vec<Caller> = vec![
            ("token-1", stranger.bearing("one"), &["analyst"]),
            ("token-2", stranger.bearing("two"), &[]),
            ("alice", user("alice"), &["analyst", "keeper"]),
            ("bob", user("bob"), &["keeper"]),
            ("carol", user("carol"), &[]),
        ];
        (program, callers)
    }

    /// Returns the records of calls, once the server has ended.
    fn records(&self, mut program: Program) -> Vec<Value> {
        program.signal(Signal::TERM);
        assert!(program.ended().success());
        let text = fs::read_to_string(self.home.file("audit.jsonl")).expect("a trail");
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let lines: Vec<Value> = lines.collect();
        lines
            .into_iter()
            .filter(|line| line["kind"] == "call")
            .collect()
    }
}

fn is_seen(sets: &[&str], of: &[&str]) -> bool {
    of.iter().any(|set| sets.contains(set))
}

/// Returns a name of the same length that was never defined.
pub(crate) fn invented(name: &str) -> String {
    format!("{}%", &name[..name.len() - 1])
}

/// Paths and revisions in which calls are sent.
pub(crate) const WAYS: [&str; 3] = ["/mcp/v1", "2025-06-18", "2026-07-28"];

pub(crate) fn send(client: &Client, way: &str, method: &str, params: &Value) -> Answer {
    let message = |params: &Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    match way {
        "/mcp/v1" => client.post(way, &message(params)),
        "2026-07-28" => {
            let (headers, body) = modern(method, params);
            client.send("POST", "/mcp", &headers, &body)
        }
        revision => {
            let headers = format!(
                "content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
                 mcp-protocol-version: {revision}\r\n"
            );
            client.send("POST", "/mcp", &headers, &message(params))
        }
    }
}

/// Returns the status, the headers without those that differ between all requests, and the body.
pub(crate) fn whole(answer: &Answer) -> String {
    let changing = ["date:", "x-request-id:"];
    let head = answer.head.to_ascii_lowercase();
    let head: Vec<_> = head
        .lines()
        .filter(|line| !changing.iter().any(|name| line.starts_with(name)))
        .collect();
    format!("{}\n\n{}", head.join("\n"), answer.body)
}

/// Checks that a call to each name gets the answer to an invented one, unless the caller sees it.
fn check_calls(caller: &Caller, method: &str, names: Names, params: impl Fn(&str) -> Value) {
    let (who, client, sets) = caller;
    for way in WAYS {
        for (name, of) in names {
            let (has_templates, other) = (way != "/mcp/v1", invented(name));
            let answer = send(client, way, method, &params(name));
            let unknown = send(client, way, method, &params(&other));
            let answer = whole(&answer).replace(name, &other);
            let is_unknown = answer == whole(&unknown);
            let exists = is_seen(sets, of) && (has_templates || !name.starts_with("pg://main"));
            // Tools that exist for clients that negotiate, unless a set has the whole name.
            let exists = exists && (has_templates || *name != "list_databases");
            assert_eq!(
                is_unknown, !exists,
                "{who} {way} {method} {name}: {answer} {unknown:?}"
            );
        }
    }
}

/// Returns the names in a list, sorted.
pub(crate) fn listed(client: &Client, way: &str, method: &str, member: &str) -> Vec<String> {
    let answer = send(client, way, method, &json!({})).json();
    let list = member.split('/').next().expect("a list");
    let list = answer["result"][list]
        .as_array()
        .unwrap_or_else(|| panic!("a list in {answer}"));
    let name = member.split('/').nth(1).expect("a member");
    let mut names: Vec<_> = list
        .iter()
        .map(|entry| entry[name].as_str().expect("a name").to_owned())
        .collect();
    names.sort();
    names
}

fn expected(sets: &[&str], names: Names, is_listed: impl Fn(&str) -> bool) -> Vec<String> {
    let names = names
        .iter()
        .filter(|(name, of)| is_seen(sets, of) && is_listed(name));
    let mut names: Vec<_> = names.map(|(name, _)| (*name).to_owned()).collect();
    names.sort();
    names
}

#[test]
fn lists_have_what_the_sets_of_a_caller_have() {
    let server = Server::new(TOOLSETS);
    let (_program, callers) = server.callers();
    for (who, client, sets) in &callers {
        for way in WAYS {
            let is_exact = way == "/mcp/v1";
            let found = listed(client, way, "tools/list", "tools/name");
            // The list of `/mcp/v1` has tools for other clients only if a set has the whole name.
            let is_listed =
                |name: &str| !is_exact || !["list_databases", "execute_explain"].contains(&name);
            assert_eq!(found, expected(sets, TOOLS, is_listed), "{who} {way}");
            let found = listed(client, way, "resources/list", "resources/uri");
            let is_listed = |uri: &str| !uri.starts_with("pg://main");
            assert_eq!(found, expected(sets, RESOURCES, is_listed), "{who} {way}");
            let found = listed(client, way, "prompts/list", "prompts/name");
            assert_eq!(found, expected(sets, PROMPTS, |_| true), "{who} {way}");
            let method = "resources/templates/list";
            let found = listed(client, way, method, "resourceTemplates/uriTemplate");
            let templates: &[&str] = match (is_exact, *sets) {
                (true, _) | (_, []) => &[],
                (_, ["analyst"]) => &["pg://{database}/{schema}/{table}"],
                _ => &[
                    "pg://{database}/{schema}/{table}",
                    "pg://{database}/{schema}/{table}/{column}",
                ],
            };
            assert_eq!(found, templates, "{who} {way}");
        }
    }
}

#[test]
fn calls_find_what_the_sets_of_a_caller_have_and_the_rest_was_never_defined() {
    let server = Server::new(TOOLSETS);
    let (_program, callers) = server.callers();
    for caller in &callers {
        let named = |name: &str| json!({"name": name});
        check_calls(caller, "tools/call", TOOLS, named);
        check_calls(
            caller,
            "tools/call",
            TOOLS,
            |name| json!({"name": name, "arguments": {"query": 7, "x": null}}),
        );
        check_calls(
            caller,
            "resources/read",
            RESOURCES,
            |uri| json!({"uri": uri}),
        );
        check_calls(caller, "prompts/get", PROMPTS, named);
        if is_seen(caller.2, &["analyst"]) {
            let (_, client, sets) = caller;
            let custom = &RESOURCES[..4];
            for (uri, of) in custom {
                let read = |uri: &str| {
                    let arguments = json!({"uri": uri});
                    let call = json!({"name": "read_resource", "arguments": arguments});
                    whole(&send(client, "/mcp/v1", "tools/call", &call))
                };
                let other = invented(uri);
                let is_unknown = read(uri).replace(uri, &other) == read(&other);
                assert_eq!(is_unknown, !is_seen(sets, of), "{uri}");
            }
            let (list, _) = client.tool("read_resource", &json!({"list": true}));
            let uris = list.lines().filter_map(|line| line.strip_prefix("URI: "));
            let mut uris: Vec<_> = uris.collect();
            uris.sort_unstable();
            assert_eq!(uris, expected(sets, custom, |_| true), "{list}");
        }
    }
}

#[test]
fn completions_propose_only_what_is_seen() {
    let server = Server::new(TOOLSETS);
    let (_program, callers) = server.callers();
    let complete = |client: &Client, template: &str| {
        let params = json!({"ref": {"type": "ref/resource", "uri": template},
            "argument": {"name": "table", "value": ""},
            "context": {"arguments": {"database": "main", "schema": "public"}}});
        whole(&send(client, "2025-06-18", "completion/complete", &params))
    };
    for (who, client, sets) in &callers {
        let answer = complete(client, "pg://{database}/{schema}/{table}");
        let absent = complete(client, "pg://{database}/{schema}/{absen}");
        let values = match *sets {
            [] => {
                assert_eq!(answer, absent, "{who}");
                continue;
            }
            ["analyst"] => r#""values":["people"]"#,
            _ => r#""values":["orders","people"]"#,
        };
        assert!(answer.contains(values), "{who} {answer}");
        for (name, of) in PROMPTS {
            let ask = |name: &str| {
                let subject = json!({"type": "ref/prompt", "name": name});
                let params = json!({"ref": subject, "argument": {"name": "x", "value": ""}});
                whole(&send(client, "2025-11-25", "completion/complete", &params))
            };
            let other = invented(name);
            let is_unknown = ask(name).replace(name, &other) == ask(&other);
            assert_eq!(is_unknown, !is_seen(sets, of), "{who} {name}");
        }
    }
}

#[test]
fn an_area_that_is_not_seen_is_a_path_that_does_not_exist() {
    let server = Server::new(TOOLSETS);
    let (_program, callers) = server.callers();
    for (who, client, sets) in &callers {
        for (path, of) in AREAS {
            for method in ["GET", "POST", "PUT", "DELETE", "HEAD"] {
                let json = "content-type: application/json\r\n";
                let answer = whole(&client.send(method, path, json, "{}"));
                let absent = whole(&client.send(method, "/api/nothing", json, "{}"));
                if is_seen(sets, of) {
                    assert_ne!(answer, absent, "{who} {method} {path}");
                } else {
                    assert_eq!(answer, absent, "{who} {method} {path}");
                    let body = r#"{"error":"Not found"}"#;
                    assert!(answer.ends_with(body) || method == "HEAD", "{answer}");
                }
            }
        }
        assert_eq!(client.get("/api/user/info").status, 200, "{who}");
        for name in ["svc/listDatabases", "svc/selectDatabase"] {
            let answer = client.call(name, &json!({"name": "main"}));
            let is_unknown = answer["error"]["code"] == -32601;
            assert_eq!(is_unknown, !is_seen(sets, &["analyst"]), "{who} {answer}");
        }
        for method in ["initialize", "ping"] {
            assert!(
                client.call(method, &json!({}))["result"].is_object(),
                "{who}"
            );
        }
    }
}

#[test]
fn a_tool_that_is_hidden_cannot_be_called_by_its_name() {
    let server = Server::new(TOOLSETS);
    let (_program, callers) = server.callers();
    let (_, client, _) = &callers[1];
    let statement = json!({"query": "SELECT 'was it run' AS answer"});
    for name in [
        "query_database",
        " query_database",
        "QUERY_DATABASE",
        "query_database\u{0}",
    ] {
        for way in WAYS {
            let call = json!({"name": name, "arguments": statement});
            let answer = send(client, way, "tools/call", &call);
            assert!(
                !answer.body.contains("was it run"),
                "{name} {way} {answer:?}"
            );
        }
    }
    let call = json!({"name": "query_database", "arguments": statement});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
    let headers = "content-type: application/json\r\naccept: application/json, \
                   text/event-stream\r\nmcp-protocol-version: 2025-03-26\r\n";
    for (path, body) in [
        ("/mcp", json!([call]).to_string()),
        ("/mcp?tools=query_database", call.to_string()),
        ("/mcp?tools=*", call.to_string()),
        ("/mcp/x/analyst", call.to_string()),
        ("/mcp/x/analyst?tools=query_database", call.to_string()),
    ] {
        let answer = client.send("POST", path, headers, &body);
        assert!(
            answer.status == 404 || answer.body.contains("-32602"),
            "{path} {answer:?}"
        );
        assert!(!answer.body.contains("was it run"), "{path} {answer:?}");
    }
}

/// Returns the tools that are listed at a path, or another answer.
fn tools_at(client: &Client, path: &str) -> Result<Vec<String>, String> {
    let headers = "content-type: application/json\r\nmcp-protocol-version: 2025-06-18\r\n\
                   accept: application/json, text/event-stream\r\n";
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let answer = client.send("POST", path, headers, body);
    if answer.status != 200 {
        return Err(whole(&answer));
    }
    let answer = answer.json();
    let tools = answer["result"]["tools"].as_array().expect("a list").iter();
    let names = tools.map(|tool| tool["name"].as_str().expect("a name").to_owned());
    Ok(names.collect())
}

#[test]
fn a_request_may_ask_for_less_by_path_and_query() {
    let server = Server::new(TOOLSETS);
    let (_program, callers) = server.callers();
    let analyst = [
        "get_schema_info",
        "query_database",
        "read_resource",
        "search_schema",
    ];
    for (caller, path, tools) in [
        (2, "/mcp/x/analyst", Some(&analyst[..])),
        (
            2,
            "/mcp/x/keeper",
            Some(&["execute_explain", "list_databases"]),
        ),
        (
            2,
            "/mcp/x/keeper?tools=list_*,get_*",
            Some(&["list_databases"]),
        ),
        (
            2,
            "/mcp?tools=query_database,execute_explain,count_rows",
            Some(&["execute_explain", "query_database"]),
        ),
        (2, "/mcp?tools=", Some(&[])),
        (0, "/mcp/x/analyst?x=1", Some(&analyst[..])),
        (0, "/mcp/x/keeper", None),
        (1, "/mcp/x/analyst", None),
        (2, "/mcp/x/absent", None),
        (2, "/mcp/x/", None),
        (2, "/mcp/x", None),
        (2, "/mcp/x/analyst/", None),
        (2, "/mcp/x/analys%74", None),
    ] {
        let (who, client, _) = &callers[caller];
        let absent = tools_at(client, "/mcp/nothing");
        let expected = tools.map_or(absent, |tools| {
            Ok(tools.iter().map(ToString::to_string).collect())
        });
        assert_eq!(tools_at(client, path), expected, "{who} {path}");
    }
    let alice = &callers[2].1;
    let many = format!("/mcp?tools={}", vec!["a"; 101].join(","));
    let refused = tools_at(alice, &many).expect_err("too many");
    assert!(
        refused.starts_with("http/1.1 400") && refused.contains("more than 100"),
        "{refused}"
    );
    let get = |path: &str| whole(&alice.get(path));
    assert_eq!(get("/mcp/x/analyst"), get("/mcp"));
}

#[test]
fn without_toolsets_paths_and_queries_are_what_they_were() {
    let server = Server::new("");
    let (program, callers) = server.callers();
    let (_, client, _) = &callers[1];
    for way in WAYS {
        assert!(listed(client, way, "tools/list", "tools/name").len() >= 5);
    }
    let found = client.post("/mcp/x/analyst", "{}");
    assert_eq!(whole(&found), whole(&client.post("/mcp/nothing", "{}")));
    let headers = "content-type: application/json\r\nmcp-protocol-version: 2025-06-18\r\n";
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let list = |path| whole(&client.send("POST", path, headers, body));
    assert_eq!(list("/mcp?tools=query_database"), list("/mcp"));
    let disabled = client.tool("count_rows", &json!({}));
    assert!(
        disabled.1 && disabled.0.contains("not available"),
        "{disabled:?}"
    );
    let records = server.records(program);
    assert!(records.iter().all(|record| record.get("hidden").is_none()));
}

#[test]
fn the_local_user_has_the_sets_that_are_for_it() {
    let server = Server::new(TOOLSETS);
    let (program, client) = server.home.serve(&["-no-auth"]);
    let expected = expected(&["analyst"], TOOLS, |_| true);
    assert_eq!(
        listed(&client, "2025-06-18", "tools/list", "tools/name"),
        expected
    );
    drop(program);
    let (_program, mut stdio) = server.home.stdio(&[]);
    let id = json!(1);
    let list = stdio.call(&id, "tools/list", &json!({}));
    let tools = list["result"]["tools"].as_array().expect("a list").iter();
    let tools: Vec<_> = tools
        .map(|tool| tool["name"].as_str().expect("a name"))
        .collect();
    // The tools on this list, including the tools that the set names in full.
    assert_eq!(tools, expected);
    for name in ["execute_explain", "count_rows"] {
        let other = invented(name);
        let call = |stdio: &mut StdioClient, name: &str| {
            stdio
                .call(&id, "tools/call", &json!({"name": name}))
                .to_string()
        };
        let hidden = call(&mut stdio, name).replace(name, &other);
        assert_eq!(hidden, call(&mut stdio, &other));
    }
}

#[test]
fn the_audit_trail_tells_what_was_hidden() {
    let server = Server::new(TOOLSETS);
    let (program, callers) = server.callers();
    let (_, analyst, _) = &callers[0];
    for (method, params) in [
        ("tools/call", json!({"name": "execute_explain"})),
        ("tools/call", json!({"name": "count_rows"})),
        ("tools/call", json!({"name": "invented"})),
        (
            "tools/call",
            json!({"name": "query_database", "arguments": {"query": "SELECT 1"}}),
        ),
        (
            "tools/call",
            json!({"name": "query_database", "arguments": {"query": "SELECT x"}}),
        ),
        (
            "tools/call",
            json!({"name": "read_resource", "arguments": {"uri": "custom://word"}}),
        ),
        (
            "tools/call",
            json!({"name": "read_resource", "arguments": {"uri": "custom://none"}}),
        ),
        ("resources/read", json!({"uri": "custom://limits"})),
        ("resources/read", json!({"uri": "pg://main/public/orders"})),
        ("resources/read", json!({"uri": "custom://none"})),
        ("prompts/get", json!({"name": "zzz"})),
        ("prompts/get", json!({"name": "none"})),
    ] {
        send(analyst, "2025-06-18", method, &params);
    }
    for path in ["/api/databases", "/api/llm/providers", "/api/none"] {
        analyst.get(path);
        callers[3].1.get(path);
    }
    let records = server.records(program);
    let calls = records
        .iter()
        .filter(|record| record["tool"] != "authenticate_user");
    let told: Vec<_> = calls
        .map(|record| {
            (
                record["verdict"].as_str().expect("one"),
                record["hidden"] == true,
            )
        })
        .collect();
    let [hidden, absent, ok] = [("unknown", true), ("unknown", false), ("ok", false)];
    let [unread, error] = [("error", true), ("error", false)];
    let of_calls = [hidden, hidden, absent, ok, error, unread, error];
    let of_others = [hidden, hidden, absent, hidden, absent];
    let of_requests = [hidden, hidden, ok];
    let expected = [&of_calls[..], &of_others, &of_requests].concat();
    assert_eq!(told, expected, "{records:#?}");
}

#[test]
fn a_reload_exchanges_all_toolsets_or_none() {
    let server = Server::new("");
    let (program, callers) = server.callers();
    let (_, client, _) = &callers[0];
    let tools = || listed(client, "2025-06-18", "tools/list", "tools/name");
    let all = tools();
    let reload = |line: &str, toolsets: &str| {
        program.until_it_says(line, || {
            server.configure(toolsets);
            program.signal(Signal::HUP);
        })
    };
    reload("configuration reloaded from", TOOLSETS);
    let seen = expected(&["analyst"], TOOLS, |_| true);
    assert_eq!(tools(), seen);
    let wrong = TOOLSETS.replace("query_database", "query_databse");
    let line = reload("the previous one stays in use", &wrong);
    let problem = "invalid configuration: toolsets: 'analyst': unknown tool: query_databse";
    assert!(line.contains(problem), "{line}");
    assert_eq!(tools(), seen);
    let more = TOOLSETS.replace("[query_database,", "[");
    reload("configuration reloaded from", &more);
    assert_eq!(
        tools(),
        ["get_schema_info", "read_resource", "search_schema"]
    );
    reload("configuration reloaded from", "");
    assert_eq!(tools(), all);
}

#[test]
fn names_that_do_not_exist_are_reported_before_the_start() {
    let wrong = "toolsets:
- {name: analyst, tools: [orders_by_dya, 'sales_*'], prompts: [hlp], for: {users: [alice]}}
- {name: keeper, tools: [query_database], for: {users: [dave], tokens: [token-9]}}
";
    let server = Server::new(wrong);
    let problems = [
        "toolsets: 'analyst': unknown tool: orders_by_dya",
        "toolsets: 'analyst': unknown prompt: hlp",
    ];
    let checked = server.home.ran(&["-check-config"], "");
    assert_eq!(
        (checked.code, &*checked.stdout),
        (Some(1), &*(problems.join("\n") + "\n"))
    );
    let ran = server.home.ran(&["-http", "-addr", "127.0.0.1:0"], "");
    assert_eq!(ran.code, Some(1));
    for problem in problems {
        let line = format!("ERROR: invalid configuration: {problem}\n");
        assert!(ran.stderr.contains(&line), "{}", ran.stderr);
    }
    let right = wrong.replace("orders_by_dya, ", "").replace("hlp", "zzz");
    server.configure(&right);
    let checked = server.home.ran(&["-check-config"], "");
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    for warning in [
        "toolsets: 'analyst': no tool fits sales_*",
        "toolsets: 'keeper': no API token has the id token-9",
        "toolsets: 'keeper': no user is named dave",
    ] {
        assert!(checked.stderr.contains(warning), "{}", checked.stderr);
    }
}
