//! Attacks with tokens and passwords on the whole program.

use serde_json::{Value, json};

use super::{ALL, Office, entrances::try_all};
use crate::support::{Browser, Client, OAuthClient, granted, records::PASSWORD};

/// Toolsets and tools with all that there is, and a tool that writes.
const EVERYTHING: &str = "
custom_definitions_path: definitions.yaml
dba: {enabled: true, for: {everyone: true}}
toolsets:
- {name: every, tools: ['*'], resources: ['*'], prompts: ['*'], rest: [query, databases], for: {everyone: true}}
";

const WRITER: &str = "
tools:
- {name: order, description: D, database: shop, write: true, statement: 'INSERT INTO orders VALUES (7)'}
resources:
- {uri: custom://order, name: Order, type: sql, sql: INSERT INTO orders VALUES (8) RETURNING id}
";

/// Things that a hostile statement could change.
const CHANGEABLE: &str = "
CREATE SEQUENCE numbers;
CREATE FUNCTION add_order() RETURNS int LANGUAGE sql AS
    'INSERT INTO orders VALUES (5) RETURNING id';
";

/// Everything that is there, so that each change is seen.
const CHANGED: &str = "SELECT (SELECT count(*) FROM orders) + (SELECT is_called::int FROM numbers)
    + (SELECT count(*) FROM pg_largeobject_metadata) + (SELECT count(*) FROM pg_prepared_xacts)
    + (SELECT count(*) FROM pg_class WHERE relname = 'taken')";

/// Statements that write, and ways out of a transaction that only reads.
const STATEMENTS: [&str; 16] = [
    "INSERT INTO orders VALUES (1)",
    "WITH made AS (INSERT INTO orders VALUES (2) RETURNING id) SELECT * FROM made",
    "SELECT add_order()",
    "EXPLAIN ANALYZE INSERT INTO orders VALUES (3)",
    "SELECT nextval('numbers')",
    "SELECT lo_create(4711)",
    "CREATE TABLE taken (id int)",
    "SELECT 1 AS id INTO taken",
    "DO $$ BEGIN INSERT INTO orders VALUES (4); END $$",
    "COMMIT; INSERT INTO orders VALUES (6)",
    "ROLLBACK; BEGIN READ WRITE; INSERT INTO orders VALUES (6); COMMIT",
    "SET TRANSACTION READ WRITE; INSERT INTO orders VALUES (6)",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "SELECT set_config('default_transaction_read_only', 'off', false), add_order()",
    "COPY orders FROM PROGRAM 'echo 9'",
];

/// Ways to call a tool.
const FACES: [(&str, &str); 5] = [
    ("/mcp/v1", ""),
    ("/mcp", "2025-06-18"),
    ("/mcp/", "2025-11-25"),
    ("/mcp/x/every", "2025-06-18"),
    ("/mcp", "2026-07-28"),
];

fn request(
    client: &Client,
    (path, revision): (&str, &str),
    method: &str,
    params: &Value,
) -> String {
    if revision == "2026-07-28" {
        let (headers, body) = crate::revisions::modern(method, params);
        return client.send("POST", path, &headers, &body).body;
    }
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let headers = format!(
        "content-type: application/json\r\naccept: application/json, text/event-stream\r\n{}",
        match revision {
            "" => String::new(),
            revision => format!("mcp-protocol-version: {revision}\r\n"),
        }
    );
    client.send("POST", path, &headers, &call.to_string()).body
}

/// Returns the tools of a face, each with its input schema.
fn tools(client: &Client) -> Vec<(String, Value)> {
    let answer = request(
        client,
        ("/mcp/x/every", "2025-06-18"),
        "tools/list",
        &json!({}),
    );
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let tools = answer["result"]["tools"].as_array().expect("a list").iter();
    let tools = tools.map(|tool| {
        let name = tool["name"].as_str().expect("a name");
        (name.to_owned(), tool["inputSchema"]["properties"].clone())
    });
    tools.collect()
}

/// Returns arguments with a statement at each place that takes a text.
fn arguments(properties: &Value, sql: &str) -> Value {
    let Some(properties) = properties.as_object() else {
        return json!({});
    };
    let filled = properties.iter().map(|(name, schema)| {
        let value = match (&**name, schema["type"].as_str()) {
            ("database", _) => json!("shop"),
            (_, Some("string")) => json!(sql),
            (_, Some("boolean")) => json!(true),
            (_, Some("integer" | "number")) => json!(1),
            (_, Some("array")) => json!([sql]),
            _ => json!({}),
        };
        (name.clone(), value)
    });
    Value::Object(filled.collect())
}

/// Sends the statements to the endpoints for tables and files.
fn query_over_rest(client: &Client) {
    for sql in STATEMENTS {
        let body = json!({"sql": sql, "database": "shop", "format": "csv"});
        client.post("/api/query", &body.to_string());
        let link = client.post("/api/exports", &body.to_string());
        if link.status == 201 {
            client.get(link.json()["href"].as_str().expect("a link"));
        }
    }
}

/// CVE-2026-49291: a token without the scope for changes changes something by another way.
#[test]
fn with_the_scope_to_read_no_tool_changes_anything_at_any_face() {
    let office = Office::new(EVERYTHING);
    office.postgres.run(CHANGEABLE);
    let definitions = office.home.file("definitions.yaml");
    office.home.replace(&definitions, WRITER);
    let (_program, client) = office.serve();
    let registered = OAuthClient::register(&client);
    let allowed = [("database.shop", "1"), ("database.logs", "1")];
    let reader = registered.tokens("ann", PASSWORD, &allowed);
    let reader = client.bearing(&reader.access);
    let tools = tools(&reader);
    for name in ["query_database", "execute_explain", "order", "db_health"] {
        assert!(
            tools.iter().any(|(tool, _)| tool == name),
            "{name}: {tools:?}"
        );
    }
    let query = |sql: &str| json!({"query": sql, "database": "shop"});
    for face in FACES {
        for (name, properties) in &tools {
            for sql in &STATEMENTS[..4] {
                let params = json!({"name": name, "arguments": arguments(properties, sql)});
                request(&reader, face, "tools/call", &params);
            }
        }
        for sql in STATEMENTS {
            for name in ["query_database", "execute_explain"] {
                let params = json!({"name": name, "arguments": query(sql)});
                let answer = request(&reader, face, "tools/call", &params);
                assert!(!answer.is_empty(), "{face:?} {name} {sql}");
            }
            // Nothing of it stays for the next statement.
            let params = json!({"name": "query_database", "arguments": query(STATEMENTS[0])});
            request(&reader, face, "tools/call", &params);
        }
        let params = json!({"uri": "custom://order"});
        request(&reader, face, "resources/read", &params);
        assert_eq!(office.postgres.count(CHANGED), 0, "{face:?}");
    }
    query_over_rest(&reader);
    assert_eq!(office.postgres.count(CHANGED), 0, "over REST");

    let writer = registered.tokens("ann", PASSWORD, ALL);
    let writer = client.bearing(&writer.access);
    for (face, expected) in FACES.into_iter().zip(1..) {
        let params = json!({"name": "query_database", "arguments": query(STATEMENTS[0])});
        let answer = request(&writer, face, "tools/call", &params);
        assert_eq!(
            office.postgres.count(CHANGED),
            expected,
            "{face:?}: {answer}"
        );
    }
}

#[test]
fn a_replayed_code_ends_its_grant_and_the_token_that_is_out() {
    let office = Office::new("");
    let (_program, client) = office.serve();
    let registered = OAuthClient::register(&client);
    let browser = Browser::new(&client);
    let page = browser.sign_in(&registered.request("mcp"), "ann", PASSWORD);
    let code = registered.allow(&browser, &page, ALL);
    let tokens = granted(&registered.exchange(&code));
    let info = || client.bearing(&tokens.access).get("/api/user/info").status;
    assert_eq!(info(), 200);
    assert_eq!(registered.exchange(&code).json()["error"], "invalid_grant");
    assert_eq!(info(), 401, "its grant has ended");
    let refused = registered.refresh(&tokens.refresh);
    assert_eq!(refused.json()["error"], "invalid_grant");
}

#[test]
fn a_password_opens_nothing_where_a_factor_is_due_at_any_entrance() {
    let office = Office::new("http: {auth: {oauth: {second_factor: required}}}\n");
    let (_program, client) = office.serve();
    let [tool, console, page] = try_all(&client, PASSWORD);
    assert!(
        tool.contains("authentication failed: sign in with a browser"),
        "{tool}"
    );
    assert!(!tool.contains("session_token"), "{tool}");
    assert!(console.contains("use_browser_sign_in"), "{console}");
    assert!(page.contains("Set up a second factor"), "{page}");
    assert!(!page.contains("Allow access?"), "{page}");
    // A wrong password does not say that a factor is due.
    let [tool, console, page] = try_all(&client, "wrong");
    for text in [&tool, &console] {
        assert!(text.contains("invalid username or password"), "{text}");
    }
    assert!(
        page.contains("The name or the password is wrong."),
        "{page}"
    );
}

#[test]
fn a_token_of_a_server_opens_no_other_server_with_the_same_key() {
    let office = Office::new("");
    let serve = |url: &str| office.home.serve(&["-oauth", "-public-url", url]);
    let (program, client) = serve("http://localhost:4711");
    let tokens = OAuthClient::register(&client).tokens("ann", PASSWORD, ALL);
    let info = |client: &Client| client.bearing(&tokens.access).get("/api/user/info").status;
    assert_eq!(info(&client), 200);
    drop(program);
    let (program, client) = serve("http://localhost:4712");
    assert_eq!(info(&client), 401, "its issuer and audience are others");
    drop(program);
    let (_program, client) = serve("http://localhost:4711");
    assert_eq!(info(&client), 200);
}
