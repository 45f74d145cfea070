//! Tests of the drop-in for server-postgres: its tool and its resources on all paths.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    revisions::{ask, legacy},
    support::{Client, Home, Postgres},
};

const ON: &str = "compat: {server_postgres: true}\n";

/// Limit on the entry of the tool, in characters: 60 tokens.
const LONGEST_ENTRY: usize = 240;

/// Limit on the default `tools/list`, in characters: 1,400 tokens.
const LONGEST_LIST: usize = 5_600;

const SQL: &str = "SELECT id FROM orders";

const ROWS: &str = "[\n  {\n    \"id\": \"7\"\n  }\n]";

fn configured(more: &str) -> (Postgres, Home) {
    let postgres = Postgres::with("CREATE TABLE orders AS SELECT 7::bigint AS id");
    let home = Home::new();
    home.configure(&format!("databases:\n{}{more}", postgres.entry("main")));
    (postgres, home)
}

fn query(client: &Client, sql: &str) -> Value {
    let params = json!({"name": "query", "arguments": {"sql": sql}});
    client.call("tools/call", &params)
}

fn entries<'a>(answer: &'a Value, list: &str) -> &'a Vec<Value> {
    let entries = answer["result"][list].as_array();
    entries.unwrap_or_else(|| panic!("a list in {answer}"))
}

fn uris(answer: &Value) -> Vec<&str> {
    let entries = entries(answer, "resources").iter();
    entries
        .map(|entry| entry["uri"].as_str().expect("a text"))
        .collect()
}

/// Checks the tool and the resources with a function that asks in one revision.
fn check(mut ask: impl FnMut(&str, &Value) -> Value) {
    let listed = ask("tools/list", &json!({}));
    let tools = entries(&listed, "tools");
    let entry = tools
        .iter()
        .find(|tool| tool["name"] == "query")
        .expect("listed");
    let schema = json!({"type": "object", "properties": {"sql": {"type": "string"}}});
    assert_eq!(entry["inputSchema"], schema);
    assert!(
        entry.to_string().chars().count() <= LONGEST_ENTRY,
        "{entry}"
    );
    let length = listed["result"]["tools"].to_string().chars().count();
    assert!(length <= LONGEST_LIST, "{length}");
    assert!(tools.iter().any(|tool| tool["name"] == "query_database"));

    let call = |arguments: Value| json!({"name": "query", "arguments": arguments});
    let answer = ask("tools/call", &call(json!({"sql": SQL, "unknown": 1})));
    let result = &answer["result"];
    assert_eq!(result["content"], json!([{"type": "text", "text": ROWS}]));
    assert_eq!(result["isError"], false, "{answer}");
    for (arguments, code, message) in [
        (
            json!({"sql": "SELECT x"}),
            -32603,
            "column \"x\" does not exist",
        ),
        (
            json!({"sql": 7}),
            -32602,
            "Missing or invalid 'sql' parameter",
        ),
    ] {
        let answer = ask("tools/call", &call(arguments));
        assert_eq!(answer["error"], json!({"code": code, "message": message}));
    }

    let listed = ask("resources/list", &json!({}));
    let [own, found] = uris(&listed)[..] else {
        panic!("{listed}");
    };
    assert_eq!(own, "pg://system_info");
    assert!(
        found.starts_with("postgres://") && found.ends_with("/orders/schema"),
        "{found}"
    );
    let read = ask("resources/read", &json!({"uri": found}));
    let columns = "[\n  {\n    \"column_name\": \"id\",\n    \"data_type\": \"bigint\"\n  }\n]";
    let contents = json!([{"uri": found, "mimeType": "application/json", "text": columns}]);
    assert_eq!(read["result"]["contents"], contents, "{read}");
}

#[test]
fn the_tool_and_the_resources_are_there_on_all_paths_and_revisions() {
    let (_postgres, mut home) = configured("");
    home.set("ZIGGURAT_COMPAT_SERVER_POSTGRES", "true");
    let (_program, client) = home.serve(&["-no-auth"]);
    check(|method, params| client.call(method, params));
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        check(|method, params| legacy(&client, revision, method, params));
    }
    check(|method, params| ask(&client, method, params).json());
    let (_program, mut stdio) = home.stdio(&["-compat", "server-postgres"]);
    check(|method, params| stdio.call(&json!(1), method, params));
}

#[test]
fn only_the_command_changes_where_the_old_server_was_started() {
    let postgres = Postgres::with("CREATE TABLE orders AS SELECT 7::bigint AS id");
    let home = Home::new();
    let url = postgres.url();
    let (_program, mut stdio) = home.bare_stdio(&["-compat", "server-postgres", &url]);
    check(|method, params| stdio.call(&json!(1), method, params));
    let listed = stdio.call(&json!(1), "resources/list", &json!({}));
    let uri = uris(&listed)[1].to_owned();
    // The URL without the password, and with the table in place of the database.
    let (server, _) = url.rsplit_once('/').expect("a database");
    let server = server.replacen(&format!(":{}@", postgres.password()), "@", 1);
    let server = server.split_once("://").expect("a scheme").1;
    assert_eq!(uri, format!("postgres://{server}/orders/schema"));
}

#[test]
fn nothing_is_there_by_default_and_another_server_is_refused() {
    let (_postgres, home) = configured("");
    let (_program, client) = home.serve(&["-no-auth"]);
    let listed = client.call("tools/list", &json!({}));
    assert!(
        entries(&listed, "tools")
            .iter()
            .all(|tool| tool["name"] != "query")
    );
    assert_eq!(query(&client, SQL)["error"]["code"], -32002);
    assert_eq!(
        uris(&client.call("resources/list", &json!({}))),
        ["pg://system_info"]
    );
    let params = json!({"uri": "postgres://a@b/orders/schema"});
    let read = client.call("resources/read", &params);
    assert_eq!(read["error"]["code"], -32003, "{read}");
    let ran = home.ran_before(&["-compat", "mysql", "-check-config"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.contains("compat.server_postgres: needs"),
        "{ran:?}"
    );
}

#[test]
fn what_the_operator_switches_off_is_off_here_too() {
    let off = "builtins: {tools: {query_database: false, get_schema_info: false}}\n";
    let (_postgres, home) = configured(&format!("{ON}{off}"));
    let (_program, client) = home.serve(&["-no-auth"]);
    assert_eq!(query(&client, SQL)["error"]["code"], -32002);
    assert_eq!(
        uris(&client.call("resources/list", &json!({}))),
        ["pg://system_info"]
    );
}

#[test]
fn toolsets_decide_who_sees_the_tool_and_the_resources() {
    let sets = "toolsets:\n- {name: a, tools: [query, query_database], resources: [\"postgres://*\"], \
                for: {local: true}}\n";
    let (_postgres, home) = configured(&format!("{ON}{sets}"));
    let (_program, client) = home.serve(&["-no-auth"]);
    assert_eq!(query(&client, SQL)["result"]["content"][0]["text"], ROWS);
    let listed = client.call("resources/list", &json!({}));
    let [uri] = uris(&listed)[..] else {
        panic!("{listed}");
    };
    let read = client.call("resources/read", &json!({"uri": uri}));
    assert!(read["error"].is_null(), "{read}");

    let sets = "toolsets:\n- {name: a, tools: [query_database], resources: [\"pg://*\"], \
                for: {local: true}}\n";
    let (_postgres, home) = configured(&format!("{ON}{sets}"));
    let (_program, client) = home.serve(&["-no-auth"]);
    assert_eq!(query(&client, SQL)["error"]["code"], -32002);
    assert_eq!(
        uris(&client.call("resources/list", &json!({}))),
        ["pg://system_info"]
    );
    let read = client.call("resources/read", &json!({"uri": uri}));
    assert_eq!(read["error"]["code"], -32003, "{read}");
}

#[test]
fn its_statements_have_the_limits_and_the_records_of_others() {
    let more = "limits: {max_result_bytes: 2000}\naudit: {file: audit.jsonl, statement: text}\n";
    let (postgres, home) = configured(&format!("    query_timeout: 500ms\n{ON}{more}"));
    let (mut program, client) = home.serve(&["-no-auth"]);
    let cut = query(
        &client,
        "SELECT repeat('x', 100) AS x FROM generate_series(1, 50)",
    );
    let [rows, note] = &cut["result"]["content"].as_array().expect("a list")[..] else {
        panic!("{cut}");
    };
    let text = rows["text"].as_str().expect("a text");
    let rows: Vec<Value> = serde_json::from_str(text).expect("whole rows");
    assert!(!rows.is_empty() && text.len() <= 2000, "{text}");
    let expected = format!("{} rows shown, more available.", rows.len());
    assert_eq!(note["text"], *expected);
    let slow = query(&client, "SELECT pg_sleep(300)");
    let message = "canceling statement due to statement timeout";
    assert_eq!(slow["error"], json!({"code": -32603, "message": message}));
    let stacked = query(&client, "COMMIT; DROP TABLE orders");
    assert_eq!(stacked["error"]["code"], -32603, "{stacked}");
    assert_eq!(postgres.count("SELECT count(*) FROM orders"), 1);

    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let records = trail
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let records: Vec<Value> = records
        .filter(|record: &Value| record["tool"] == "query")
        .collect();
    let found = |index: usize| {
        let record: &Value = &records[index];
        let text = |member: &Value| member.as_str().unwrap_or_default().to_owned();
        [
            text(&record["verdict"]),
            text(&record["code"]),
            text(&record["statement"]["text"]),
        ]
    };
    let cut = "SELECT repeat('x', 100) AS x FROM generate_series(1, 50)";
    assert_eq!(found(0), ["ok", "", cut], "{records:?}");
    assert_eq!(
        found(1),
        ["timeout", "57014", "SELECT pg_sleep(300)"],
        "{records:?}"
    );
    assert_eq!(
        found(2),
        ["refused", "-32603", "COMMIT; DROP TABLE orders"],
        "{records:?}"
    );
    assert_eq!(records[0]["rows"], rows.len());
    assert_eq!(records.len(), 3);
}
