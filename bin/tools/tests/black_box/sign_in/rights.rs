//! The choices of a person hold in every tool and at every endpoint.

use serde_json::{Value, json};

use super::{ALL, INSERT, Office, query};
use crate::support::{Browser, Client, OAuthClient, granted, records::PASSWORD};

const READ_ONLY: &str =
    "This connection was allowed to read only. Connect again and allow changes.";

/// A tool that writes.
const WRITER: &str = "
tools:
- {name: order, description: D, database: shop, write: true, statement: 'INSERT INTO orders VALUES (7)'}
";

fn post_query(client: &Client, sql: &str) -> String {
    let body = json!({"sql": sql, "database": "shop"}).to_string();
    client.post("/api/query", &body).body
}

#[test]
fn without_the_scope_for_changes_nothing_is_written_anywhere() {
    let office = Office::new("custom_definitions_path: definitions.yaml\n");
    let definitions = office.home.file("definitions.yaml");
    office.home.replace(&definitions, WRITER);
    let (_program, client) = office.serve();
    let registered = OAuthClient::register(&client);
    let allowed = [("database.shop", "1"), ("database.logs", "1")];
    let tokens = registered.tokens("ann", PASSWORD, &allowed);
    assert_eq!(tokens.scope, "mcp");
    let reader = client.bearing(&tokens.access);
    let (text, is_error) = query(&reader, "shop", INSERT);
    assert!(is_error && text.contains(READ_ONLY), "{text}");
    let answer = reader.call("tools/call", &json!({"name": "order", "arguments": {}}));
    assert!(answer.to_string().contains(READ_ONLY), "{answer}");
    let answer = post_query(&reader, INSERT);
    assert!(answer.contains(READ_ONLY), "{answer}");
    for sql in [
        "SET transaction_read_only = off",
        "WITH made AS (INSERT INTO orders VALUES (2) RETURNING id) SELECT * FROM made",
        "DO $$ BEGIN INSERT INTO orders VALUES (3); END $$",
        "SELECT set_config('transaction_read_only', 'off', true)",
        "EXPLAIN ANALYZE INSERT INTO orders VALUES (4)",
    ] {
        query(&reader, "shop", sql);
        post_query(&reader, sql);
    }
    assert_eq!(office.orders(), 0);
    let listed = reader.get("/api/databases").json();
    let writable = listed["databases"].as_array().expect("a list").iter();
    assert!(
        writable.clone().count() == 2
            && writable.clone().all(|it| it["allow_writes"] != json!(true)),
        "{listed}"
    );

    let writer = client.bearing(&registered.tokens("ann", PASSWORD, ALL).access);
    let (text, is_error) = query(&writer, "shop", INSERT);
    assert!(!is_error, "{text}");
    assert_eq!(office.orders(), 1);
    // Another grant of the same person is another caller.
    let (text, is_error) = query(&reader, "shop", INSERT);
    assert!(is_error && text.contains(READ_ONLY), "{text}");
    assert_eq!(office.orders(), 1);
}

#[test]
fn a_grant_has_the_databases_that_the_person_ticked() {
    let office = Office::new("");
    let (_program, client) = office.serve();
    let registered = OAuthClient::register(&client);
    let tokens = registered.tokens("ann", PASSWORD, &[("database.logs", "1"), ("write", "1")]);
    assert_eq!(tokens.scope, "mcp", "the logs allow no writes");
    let ann = client.bearing(&tokens.access);
    let listed = ann.get("/api/databases").json();
    let names = listed["databases"].as_array().expect("a list").iter();
    let names: Vec<_> = names.map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["logs"], "{listed}");
    let (text, is_error) = query(&ann, "shop", "SELECT 1");
    assert!(is_error, "{text}");
    assert!(!query(&ann, "logs", "SELECT 1").1);
    let url = office.postgres.url();
    let (text, is_error) = query(&ann, &url, "SELECT 1");
    assert!(is_error, "{text}");
    let selected = ann.send("POST", "/api/databases/select", "", r#"{"name":"shop"}"#);
    assert_ne!(selected.status, 200, "{selected:?}");

    // The page shows bob what bob may use, and a form cannot ask for more.
    let tokens = registered.tokens("bob", PASSWORD, ALL);
    let bob = client.bearing(&tokens.access);
    assert!(query(&bob, "shop", "SELECT 1").1);
    assert!(!query(&bob, "logs", "SELECT 1").1);
    assert_eq!(tokens.scope, "mcp");
}

#[test]
fn a_toolset_is_for_people_who_allow_its_scope() {
    let office = Office::new(
        "http:
  auth:
    oauth:
      scopes:
      - {name: shop.read, title: Reading the shop, groups: [analysts]}
toolsets:
- {name: usual, tools: [get_schema_info], for: {everyone: true}}
- {name: reading, tools: [query_database], for: {scopes: [shop.read]}}
",
    );
    let (_program, client) = office.serve();
    let registered = OAuthClient::register(&client);
    let connect = |name, allowed: &[(&str, &str)]| {
        let browser = Browser::new(&client);
        let page = browser.sign_in(&registered.request("mcp shop.read"), name, PASSWORD);
        let is_offered = page.body.contains("Reading the shop");
        let boxes = [&[("database.logs", "1")], allowed].concat();
        let tokens = granted(&registered.exchange(&registered.allow(&browser, &page, &boxes)));
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let headers = "content-type: application/json\r\nmcp-protocol-version: 2025-06-18\r\n\
                       accept: application/json, text/event-stream\r\n";
        let answer = client
            .bearing(&tokens.access)
            .send("POST", "/mcp", headers, list);
        let has_tool = answer.body.contains("\"query_database\"");
        assert!(answer.body.contains("\"get_schema_info\""), "{answer:?}");
        (is_offered, tokens.scope, has_tool)
    };
    let ticked = [("scope.shop.read", "1")];
    let expected = (true, "mcp shop.read".to_owned(), true);
    assert_eq!(connect("ann", &ticked), expected);
    assert_eq!(connect("ann", &[]), (true, "mcp".to_owned(), false));
    let expected = (false, "mcp".to_owned(), false);
    assert_eq!(connect("bob", &ticked), expected, "bob is in no group");
}

#[test]
fn a_change_sends_the_client_back_to_the_person_where_the_server_does_that() {
    let office = Office::new(
        "http: {auth: {oauth: {step_up: true}}}\ncustom_definitions_path: definitions.yaml\n",
    );
    let definitions = office.home.file("definitions.yaml");
    office.home.replace(&definitions, WRITER);
    let (_program, client) = office.serve();
    let registered = OAuthClient::register(&client);
    let tokens = registered.tokens("ann", PASSWORD, &[("database.shop", "1")]);
    let reader = client.bearing(&tokens.access);
    let call = |name: &str, arguments: &Value| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": name, "arguments": arguments, "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = format!(
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {name}\r\n"
        );
        reader.send("POST", "/mcp/", &headers, &call.to_string())
    };
    let insert = json!({"query": INSERT, "database": "shop"});
    for (name, arguments) in [("query_database", &insert), ("order", &json!({}))] {
        let answer = call(name, arguments);
        assert_eq!(answer.status, 403, "{name}: {answer:?}");
        let challenge = answer.header("www-authenticate").expect("a challenge");
        assert!(
            challenge.contains("error=\"insufficient_scope\""),
            "{challenge}"
        );
        assert!(challenge.contains("scope=\"mcp mcp:write\""), "{challenge}");
        assert!(
            challenge.contains("/oauth-protected-resource/mcp/\""),
            "{challenge}"
        );
    }
    assert_eq!(
        call("query_database", &json!({"query": "SELECT 1"})).status,
        200
    );
    let (older, is_error) = query(&reader, "shop", INSERT);
    assert!(is_error && older.contains(READ_ONLY), "{older}");
    assert_eq!(office.orders(), 0);
}
