//! Tests of the first steps of a new user.

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Home, Postgres};

const SAMPLE: &str = "CREATE TABLE plants (id int PRIMARY KEY, name text);
    INSERT INTO plants VALUES (1, 'fern'), (2, NULL)";

#[test]
fn with_a_token_a_query_returns_rows() {
    let postgres = Postgres::with(SAMPLE);
    let home = Home::with(&postgres);
    let token = home.token("main");
    let (_program, client) = home.serve(&[]);

    let health = client.get("/health");
    assert_eq!(health.status, 200);
    assert_eq!(health.json()["status"], "ok");
    assert_eq!(client.post("/mcp/v1", "{}").status, 401);

    let client = client.bearing(&token);
    let text = client.query("SELECT * FROM plants ORDER BY id");
    let rows = text.split("Results (2 rows):\n").nth(1);
    assert_eq!(rows, Some("id\tname\n1\tfern\n2\t"), "{text}");
}

#[test]
fn a_user_logs_in_and_works_with_the_session() {
    let postgres = Postgres::with(SAMPLE);
    let home = Home::with(&postgres);
    home.token("main");
    home.user("alice", "correct horse");
    let (_program, client) = home.serve(&[]);
    let alice = client.logged_in("alice", "correct horse");
    assert!(alice.query("SELECT 1 AS one").ends_with("one\n1"));
}

#[test]
fn standard_input_and_output_need_no_token() {
    let postgres = Postgres::with(SAMPLE);
    let mut home = Home::new();
    for (name, value) in postgres.environment() {
        home.set(name, value);
    }
    let (mut program, mut stdio) = home.stdio(&[]);
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let answer = stdio.call(&json!(7), "initialize", &params);
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(answer["id"], 7);
    let (text, is_error) = stdio.tool("query_database", &json!({"query": "TABLE plants"}));
    assert!(!is_error, "{text}");
    stdio.hang_up();
    assert!(stdio.is_over());
    assert!(program.ended().success());
}

#[test]
fn a_signal_ends_the_server_while_its_client_is_idle() {
    let postgres = Postgres::with(SAMPLE);
    let mut home = Home::new();
    for (name, value) in postgres.environment() {
        home.set(name, value);
    }
    let (mut program, mut stdio) = home.stdio(&[]);
    let (text, _) = stdio.tool("query_database", &json!({"query": "TABLE plants"}));
    assert!(text.contains("fern"), "{text}");
    program.signal(Signal::TERM);
    assert!(program.ended().success());
}
