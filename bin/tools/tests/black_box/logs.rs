//! Tests of the log on standard error, and of what it must never contain.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Home, Postgres, Program};

const SHOP: &str = "CREATE TABLE item (id int, note text); INSERT INTO item VALUES (1, 'a fern');
    CREATE FUNCTION gossip(text) RETURNS text LANGUAGE plpgsql AS
        $$ BEGIN RAISE WARNING 'heard %', $1; RETURN $1; END $$";

/// Text of a caller that must not be in the log.
const SECRET: &str = "hunter2";

/// Ends the program and returns its log.
fn last_words(program: &Program) -> String {
    program.signal(Signal::TERM);
    program.wait_for("shutting down");
    program.log()
}

/// Returns the lines about tool calls.
fn calls(log: &str) -> Vec<Value> {
    let lines = log.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn at_the_start_the_log_lists_the_enabled_features() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    home.token("main");
    home.token("main");
    home.user("alice", "correct horse");
    let (program, _client) = home.serve(&[]);
    let log = program.log();
    let expected = [
        format!("INFO Loaded 2 token(s) from {}\n", home.tokens().display()),
        format!("INFO Loaded 1 user(s) from {}\n", home.users().display()),
        format!("INFO Watching {} for changes\n", home.tokens().display()),
        "INFO login rate limit: 10 failures per 15 minutes from one address\n".to_owned(),
        "INFO Embedding: DISABLED\n".to_owned(),
        "INFO LLM proxy: DISABLED\n".to_owned(),
        "INFO Knowledge base: DISABLED\n".to_owned(),
        "INFO Authentication: ENABLED\n".to_owned(),
        "INFO listening on http://127.0.0.1:".to_owned(),
    ];
    for line in expected {
        assert!(log.contains(&line), "no {line} in {log}");
    }
}

#[test]
fn a_tool_call_is_a_json_line_without_its_arguments() {
    let postgres = Postgres::with(SHOP);
    let mut home = Home::with(&postgres);
    home.set("ZIGGURAT_MCP_LOG_LEVEL", "info");
    let (program, client) = home.serve(&["-no-auth"]);
    client.query(&format!("SELECT gossip('{SECRET}')"));
    client.tool(
        "query_database",
        &json!({"query": format!("SELEC {SECRET}")}),
    );
    client.call("tools/call", &json!({"name": "nonsense"}));
    let log = last_words(&program);
    let calls = calls(&log);
    let seen: Vec<_> = calls
        .iter()
        .map(|call| {
            let fields = &call["fields"];
            assert!(fields["duration_ms"].is_number(), "{call}");
            assert_eq!(fields["id"], "1", "{call}");
            let time = call["timestamp"].as_str().expect("a time");
            assert!(time.ends_with('Z') && time.contains('T'), "{time}");
            [
                &call["level"],
                &call["message"],
                &fields["tool"],
                &fields["outcome"],
            ]
            .map(|text| text.as_str().expect("a text").to_owned())
        })
        .collect();
    assert_eq!(
        seen,
        [
            ["info", "tool call", "query_database", "ok"],
            ["warn", "tool call", "query_database", "error"],
            ["warn", "tool call", "nonsense", "unknown tool"],
        ]
    );
    assert!(!log.contains(SECRET), "{log}");
    assert!(!log.contains("SELEC"), "{log}");
}

#[test]
fn by_default_only_calls_with_an_internal_error_are_logged() {
    let postgres = Postgres::with(SHOP);
    let home = Home::with(&postgres);
    let (program, client) = home.serve(&["-no-auth"]);
    client.query(&format!("SELECT gossip('{SECRET}')"));
    client.tool(
        "query_database",
        &json!({"query": format!("SELECT {SECRET}")}),
    );
    let log = last_words(&program);
    assert_eq!(calls(&log), [Value::Null; 0], "{log}");
    assert!(!log.contains("[DATABASE]"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
}

#[test]
fn statements_are_logged_by_kind_and_not_by_text() {
    let postgres = Postgres::with(SHOP);
    for (level, opened, statement, lent) in [
        ("info", true, false, false),
        ("debug", true, true, false),
        ("trace", true, true, true),
    ] {
        let mut home = Home::with(&postgres);
        home.set("ZIGGURAT_DB_LOG_LEVEL", level);
        let (mut program, client) = home.serve(&["-no-auth"]);
        client.query(&format!("SELECT gossip('{SECRET}')"));
        client.tool(
            "query_database",
            &json!({"query": format!("{SECRET} * FROM item")}),
        );
        last_words(&program);
        assert!(program.ended().success());
        let log = program.whole_log();
        for (words, is_there) in [
            (
                "[DATABASE] connection opened database=main process=",
                opened,
            ),
            ("[DATABASE] connection closed process=", opened),
            ("command=SELECT duration_ms=", statement),
            ("command=OTHER duration_ms=", statement),
            ("sqlstate=42601 is_ok=false", statement),
            ("[DATABASE] catalogue read database=main", statement),
            ("[DATABASE] connection lent", lent),
        ] {
            assert_eq!(log.contains(words), is_there, "{level}, {words}: {log}");
        }
        assert!(!log.to_lowercase().contains(SECRET), "{level}: {log}");
        let opened = log.matches("] connection opened").count();
        assert_eq!(log.matches("] connection closed").count(), opened, "{log}");
    }
}

#[test]
fn debugging_shows_the_traffic_and_keeps_its_secrets() {
    let postgres = Postgres::with(SHOP);
    let home = Home::with(&postgres);
    let token = home.token("main");
    home.user("alice", "correct horse");
    let (program, client) = home.serve(&["-debug"]);
    client.get("/nowhere?token=hunter2");
    client.login("alice", SECRET);
    let alice = client.logged_in("alice", "correct horse");
    alice.query(&format!("SELECT gossip('{SECRET}')"));
    client.bearing(&token).query("SELECT 1");
    client.bearing(SECRET).post("/mcp/v1", "{}");
    let log = last_words(&program);
    let expected = [
        "method=GET path=/nowhere size=0",
        "DEBUG http request request_id=",
        "method=POST path=/mcp/v1 size=",
        "method=POST path=/mcp/v1 authorization=\"Bearer ***\" size=",
        "DEBUG json-rpc method=tools/call request_id=",
        "DEBUG http response request_id=",
        " status=200 duration_ms=",
        " status=401 duration_ms=",
    ];
    for words in expected {
        assert!(log.contains(words), "no {words} in {log}");
    }
    for secret in [SECRET, "correct horse", &token, "session_token", "gossip"] {
        assert!(!log.contains(secret), "{secret} is in {log}");
    }
}

#[test]
fn a_result_that_is_streamed_is_logged_when_it_has_been_sent() {
    let postgres = Postgres::new();
    let mut home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!("databases:\n{entry}    row_limit: 5000\n"));
    home.set("ZIGGURAT_MCP_LOG_LEVEL", "debug");
    let (program, client) = home.serve(&["-no-auth"]);
    let many = "SELECT n FROM generate_series(1, 3000) n";
    assert!(client.query(many).ends_with("\n3000"));
    let log = last_words(&program);
    let calls = calls(&log);
    let messages: Vec<_> = calls.iter().map(|call| &call["message"]).collect();
    assert_eq!(messages, ["tool call begins", "tool call"], "{log}");
    assert_eq!(calls[1]["fields"]["outcome"], "ok", "{log}");
}

#[test]
fn every_line_may_be_a_json_object_and_one_variable_overrides_the_others() {
    let postgres = Postgres::with(SHOP);
    let mut home = Home::with(&postgres);
    home.set("ZIGGURAT_LOG_FORMAT", "json");
    home.set("ZIGGURAT_MCP_LOG_LEVEL", "error");
    home.set("RUST_LOG", "off");
    home.set("ZIGGURAT_LOG", "info,ziggurat::database=debug");
    let (mut program, mut stdio) = home.stdio(&[]);
    let (text, is_error) = stdio.tool("query_database", &json!({"query": "SELECT 1"}));
    assert!(!is_error, "{text}");
    stdio.hang_up();
    assert!(program.ended().success());
    let log = program.whole_log();
    let mut targets = Vec::new();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| {
            panic!("{error}: {line}");
        });
        for member in ["timestamp", "level", "target", "message"] {
            assert!(line[member].is_string(), "{member}: {line}");
        }
        targets.push(line["target"].as_str().unwrap_or_default().to_owned());
    }
    for target in [
        "ziggurat::tool_calls",
        "ziggurat::database",
        "ziggurat_tools::serving",
    ] {
        assert!(targets.iter().any(|seen| seen == target), "{target}: {log}");
    }
    home.set("ZIGGURAT_LOG", "error");
    let ran = home.ran(&[], "");
    assert_eq!(ran.stderr, "");
}
