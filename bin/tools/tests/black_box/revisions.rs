//! Tests of the path for all protocol revisions.

use std::net::Shutdown;

use serde_json::{Value, json};

use crate::support::{Answer, Client, Home, Postgres};

const JSON: &str = "content-type: application/json\r\n";

const BOTH: &str = "accept: application/json, text/event-stream\r\n";

fn message(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// Sends a request of a legacy revision.
pub(crate) fn legacy(client: &Client, revision: &str, method: &str, params: &Value) -> Value {
    let headers = format!("{JSON}{BOTH}mcp-protocol-version: {revision}\r\n");
    let answer = client.send("POST", "/mcp", &headers, &message(method, params));
    assert_eq!(answer.status, 200, "{method}: {answer:?}");
    answer.json()
}

/// Returns the params of a modern request.
pub(crate) fn modern_params(params: &Value) -> Value {
    let mut params = params.clone();
    if params["_meta"].is_null() {
        params["_meta"] = json!({});
    }
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

/// Returns the headers and the body of a modern request.
pub(crate) fn modern(method: &str, params: &Value) -> (String, String) {
    let name = params.get("name").or(params.get("uri"));
    let name = name.and_then(Value::as_str).map(str::to_owned);
    let params = modern_params(params);
    let name = name.map_or_else(String::new, |name| format!("mcp-name: {name}\r\n"));
    let headers =
        format!("{JSON}{BOTH}mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}");
    (headers, message(method, &params))
}

pub(crate) fn ask(client: &Client, method: &str, params: &Value) -> Answer {
    let (headers, body) = modern(method, params);
    client.send("POST", "/mcp", &headers, &body)
}

pub(crate) fn result(client: &Client, method: &str, params: &Value) -> Value {
    let answer = ask(client, method, params);
    assert_eq!(answer.status, 200, "{method}: {answer:?}");
    let answer = answer.json();
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    answer["result"].clone()
}

/// Returns the names of the tools that a list has, if they are wanted: of `/mcp/v1`, and of `/mcp`.
pub(crate) fn listed(client: &Client, is_wanted: impl Fn(&str) -> bool) -> [Vec<String>; 2] {
    let lists = [
        client.call("tools/list", &json!({}))["result"]["tools"].clone(),
        result(client, "tools/list", &json!({}))["tools"].clone(),
    ];
    lists.map(|list| {
        let names = list.as_array().expect("a list").iter();
        let names = names.filter_map(|tool| tool["name"].as_str());
        let wanted = names.filter(|name| is_wanted(name));
        wanted.map(str::to_owned).collect()
    })
}

#[test]
fn every_request_needs_a_token_whatever_its_method() {
    let postgres = Postgres::with("CREATE TABLE t AS SELECT 1 AS n");
    let home = Home::with(&postgres);
    let token = home.token("main");
    let (_program, stranger) = home.serve(&[]);
    let login =
        json!({"name": "authenticate_user", "arguments": {"username": "a", "password": "b"}});
    for (method, body) in [
        ("POST", message("tools/call", &login)),
        ("POST", message("ping", &json!({}))),
        ("GET", String::new()),
        ("DELETE", String::new()),
    ] {
        let answer = stranger.send(method, "/mcp", JSON, &body);
        assert_eq!(answer.status, 401, "{method} {body}: {answer:?}");
        let challenge = answer.header("www-authenticate").unwrap_or_default();
        assert!(challenge.starts_with("Bearer"), "{answer:?}");
    }
    let client = stranger.bearing(&token);
    for method in ["GET", "DELETE", "PUT"] {
        let answer = client.send(method, "/mcp", JSON, "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    }
    let text = client.send("POST", "/mcp", "content-type: text/plain\r\n", "{}");
    assert_eq!(text.status, 415);
    let query = json!({"name": "query_database", "arguments": {"query": "SELECT n FROM t"}});
    let answer = result(&client, "tools/call", &query);
    let text = answer["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("n\n1"), "{text}");
}

#[test]
fn descriptions_of_tools_grow_with_the_revision() {
    let home = Home::with(&Postgres::new());
    let (_program, client) = home.serve(&["-no-auth"]);
    let listed = |tools: &Value| -> Vec<String> {
        let tools = tools["tools"].as_array().expect("a list");
        tools
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let exact = client.call("tools/list", &json!({}));
    assert_eq!(listed(&exact["result"]).len(), 5, "{exact}");
    for (revision, has_annotations, has_title) in [
        ("2024-11-05", false, false),
        ("2025-03-26", true, false),
        ("2025-06-18", true, true),
        ("2025-11-25", true, true),
    ] {
        let tools = legacy(&client, revision, "tools/list", &json!({}));
        let tools = &tools["result"];
        assert!(
            listed(tools).contains(&"execute_explain".to_owned()),
            "{tools}"
        );
        assert_eq!(
            tools["tools"][0].get("annotations").is_some(),
            has_annotations,
            "{tools}"
        );
        assert_eq!(
            tools["tools"][0].get("title").is_some(),
            has_title,
            "{tools}"
        );
        assert_eq!(tools.get("resultType"), None, "{tools}");
        let opened = legacy(
            &client,
            revision,
            "initialize",
            &json!({"protocolVersion": revision}),
        );
        assert_eq!(opened["result"]["protocolVersion"], revision, "{opened}");
    }
    let tools = result(&client, "tools/list", &json!({}));
    assert_eq!(
        (&tools["ttlMs"], &tools["cacheScope"]),
        (&json!(60_000), &json!("private"))
    );
    assert!(
        !listed(&tools).contains(&"search_knowledgebase".to_owned()),
        "{tools}"
    );
    let found = result(&client, "server/discover", &json!({}));
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
}

#[test]
fn a_tool_is_described_as_writing_only_to_callers_who_may_write() {
    let postgres = Postgres::new();
    let home = Home::new();
    let entries = [postgres.entry("read"), postgres.entry("write")];
    home.configure(&format!(
        "databases:\n{}{}    allow_writes: true\n",
        entries[0], entries[1]
    ));
    let tokens = ["read", "write"].map(|name| home.token(name));
    let (_program, client) = home.serve(&[]);
    for (token, may_write) in tokens.iter().zip([false, true]) {
        let tools = result(&client.bearing(token), "tools/list", &json!({}));
        let tools = tools["tools"].as_array().expect("a list");
        let query = tools
            .iter()
            .find(|tool| tool["name"] == "query_database")
            .expect("listed");
        let expected = if may_write {
            json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": false})
        } else {
            json!({"readOnlyHint": true, "openWorldHint": false})
        };
        assert_eq!(query["annotations"], expected);
    }
}

#[test]
fn errors_have_the_codes_of_their_revision() {
    let home = Home::with(&Postgres::new());
    let (_program, client) = home.serve(&["-no-auth"]);
    let tool = json!({"name": "no_such_tool", "arguments": {}});
    let resource = json!({"uri": "pg://nowhere"});
    let prompt = json!({"name": "no_such_prompt"});
    let cursor = json!({"cursor": "x"});
    let cases = [
        ("tools/call", &tool, -32002, -32602),
        ("resources/read", &resource, -32003, -32602),
        ("prompts/get", &prompt, -32603, -32602),
        ("tools/list", &cursor, 0, -32602),
        ("no/such/method", &json!({}), -32601, -32601),
        ("svc/listDatabases", &json!({}), 0, -32601),
    ];
    for (method, params, exact, negotiated) in cases {
        let answer = client.call(method, params);
        assert_eq!(
            answer["error"]["code"].as_i64().unwrap_or_default(),
            exact,
            "{answer}"
        );
        let answer = legacy(&client, "2025-11-25", method, params);
        let expected = if method == "resources/read" {
            -32002
        } else {
            negotiated
        };
        assert_eq!(answer["error"]["code"], expected, "{answer}");
        let answer = ask(&client, method, params);
        assert_eq!(answer.json()["error"]["code"], negotiated, "{answer:?}");
        let status = if negotiated == -32601 { 404 } else { 400 };
        assert_eq!(answer.status, status, "{answer:?}");
    }
    let about = legacy(&client, "2025-11-25", "resources/read", &resource);
    assert_eq!(about["error"]["data"], resource);
}

#[test]
fn a_client_gets_progress_and_cancels_the_statement_by_disconnecting() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    query_timeout: \"0\"\n",
        postgres.entry("main")
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    let params = json!({
        "name": "query_database",
        "arguments": {"query": "SELECT pg_sleep(3600)"},
        "_meta": {"progressToken": "p"},
    });
    let (headers, body) = modern("tools/call", &params);
    let stream = client.open("/mcp", &headers, &body, "\"progress\":3.0");
    postgres.wait_for_running("pg_sleep", 1);
    stream.shutdown(Shutdown::Both).expect("open");
    postgres.wait_for_running("pg_sleep", 0);
}

#[test]
fn names_are_completed_and_tables_are_resources() {
    let postgres = Postgres::with("CREATE TABLE ware (id int PRIMARY KEY, name text)");
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let templates = result(&client, "resources/templates/list", &json!({}));
    let uri = "pg://{database}/{schema}/{table}";
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], uri);
    let params = json!({
        "ref": {"type": "ref/resource", "uri": uri},
        "argument": {"name": "table", "value": "wa"},
        "context": {"arguments": {"database": "main", "schema": "public"}},
    });
    let completed = result(&client, "completion/complete", &params);
    let expected = json!({"values": ["ware"], "total": 1, "hasMore": false});
    assert_eq!(completed["completion"], expected);
    let read = result(
        &client,
        "resources/read",
        &json!({"uri": "pg://main/public/ware"}),
    );
    let text = read["contents"][0]["text"].as_str().expect("text");
    assert!(text.contains("isPrimaryKey"), "{text}");
    assert_eq!(
        (&read["ttlMs"], &read["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    let missing = ask(
        &client,
        "resources/read",
        &json!({"uri": "pg://main/public/nothing"}),
    );
    assert_eq!(
        (missing.status, &missing.json()["error"]["code"]),
        (400, &json!(-32602))
    );
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "design-schema"},
        "argument": {"name": "use_case", "value": "ol"},
    });
    let completed = legacy(&client, "2025-06-18", "completion/complete", &params);
    assert_eq!(
        completed["result"]["completion"]["values"],
        json!(["oltp", "olap"])
    );
    // Revision 2024-11-05 has none of these.
    let exact = client.call("resources/templates/list", &json!({}));
    assert_eq!(exact["result"], json!({"resourceTemplates": []}));
    let exact = client.call("resources/read", &json!({"uri": "pg://main/public/ware"}));
    assert_eq!(exact["error"]["code"], -32003);
}

#[test]
fn a_write_is_confirmed_where_the_user_can_be_asked() {
    let postgres = Postgres::with("CREATE TABLE t AS SELECT 1 AS n");
    let home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!("databases:\n{entry}    allow_writes: true\n"));
    let (_program, client) = home.serve(&["-no-auth"]);
    let call = |query: &str, able: bool, more: Value| {
        let mut params = json!({"name": "query_database", "arguments": {"query": query}});
        for (key, value) in more.as_object().expect("members") {
            params[key] = value.clone();
        }
        let (headers, body) = modern("tools/call", &params);
        let capability = r#"clientCapabilities":{"elicitation":{}}"#;
        let body = if able {
            body.replace(r#"clientCapabilities":{}"#, capability)
        } else {
            body
        };
        client.send("POST", "/mcp", &headers, &body)
    };
    let rows = || postgres.count("SELECT count(*) FROM t");
    let insert = "INSERT INTO t VALUES (2)";
    let asked = call(insert, true, json!({})).json()["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(
        asked["inputRequests"]["confirm"]["method"],
        "elicitation/create"
    );
    assert_eq!(rows(), 1);
    let answer = |action: &str, confirm: bool| {
        let response = json!({"action": action, "content": {"confirm": confirm}});
        json!({"inputResponses": {"confirm": response}, "requestState": asked["requestState"]})
    };
    for (action, confirm) in [("decline", true), ("accept", false)] {
        let declined = call(insert, true, answer(action, confirm)).json();
        assert_eq!(declined["result"]["isError"], true, "{declined}");
        assert_eq!(rows(), 1);
    }
    // The state is valid for one statement only, and must be signed by the server.
    let other = call("INSERT INTO t VALUES (3)", true, answer("accept", true));
    assert_eq!(
        (other.status, &other.json()["error"]["code"]),
        (400, &json!(-32602))
    );
    let mut tampered = answer("accept", true);
    tampered["requestState"] = json!("AAAA");
    assert_eq!(call(insert, true, tampered).status, 400);
    assert_eq!(rows(), 1);
    let done = call(insert, true, answer("accept", true)).json();
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(rows(), 2);
    // Reads need no confirmation, and clients without elicitation are not asked.
    let read = call("SELECT n FROM t", true, json!({})).json();
    assert_eq!(read["result"]["resultType"], "complete", "{read}");
    let done = call(insert, false, json!({})).json();
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(rows(), 3);
}

#[test]
fn over_stdio_a_modern_request_is_served_and_progress_is_reported() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (_program, mut stdio) = home.stdio(&[]);
    let exact = stdio.call(
        &json!(1),
        "initialize",
        &json!({"protocolVersion": "2025-11-25"}),
    );
    assert_eq!(exact["result"]["protocolVersion"], "2024-11-05");
    let params = |more: Value| {
        let (_, body) = modern("x", &more);
        serde_json::from_str::<Value>(&body).expect("JSON")["params"].clone()
    };
    let found = stdio.call(&json!(2), "server/discover", &params(json!({})));
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    let bare = stdio.call(&json!(3), "server/discover", &json!({}));
    assert_eq!(bare["error"]["code"], -32602);
    let unknown = stdio.call(&json!(4), "ping", &params(json!({})));
    assert_eq!(unknown["error"]["code"], -32601);
    let slow = params(json!({
        "name": "query_database",
        "arguments": {"query": "SELECT pg_sleep(3.5)"},
        "_meta": {"progressToken": 7},
    }));
    let first = stdio.call(&json!("slow"), "tools/call", &slow);
    assert_eq!(first["method"], "notifications/progress", "{first}");
    assert_eq!(first["params"]["progressToken"], 7);
    let answer = stdio.receive();
    assert_eq!(
        (&answer["id"], &answer["result"]["resultType"]),
        (&json!("slow"), &json!("complete"))
    );
}

#[test]
fn a_legacy_client_that_disconnects_cancels_nothing() {
    let postgres = Postgres::with("CREATE TABLE t (n int)");
    let home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!("databases:\n{entry}    allow_writes: true\n"));
    let (_program, client) = home.serve(&["-no-auth"]);
    let statement = "INSERT INTO t SELECT 1 FROM pg_sleep(4)";
    let params = json!({
        "name": "query_database",
        "arguments": {"query": statement},
        "_meta": {"progressToken": "p"},
    });
    let headers = format!("{JSON}{BOTH}mcp-protocol-version: 2025-11-25\r\n");
    let body = message("tools/call", &params);
    let stream = client.open("/mcp", &headers, &body, "\"progress\":3.0");
    postgres.wait_for_running("INSERT INTO t", 1);
    stream.shutdown(Shutdown::Both).expect("open");
    drop(stream);
    postgres.wait_until("(SELECT count(*) FROM t) = 1");
}
