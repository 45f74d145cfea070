//! Tests of statements that are cancelled because the client is gone or asks for it.

use std::{
    fs,
    io::Write as _,
    net::{Shutdown, TcpStream},
};

use serde_json::{Value, json};

use crate::support::{Home, Postgres};

/// A table to count, and an embedding that takes an hour to compare. `pg_stat_activity` shows the
/// start of a statement, in which the compared column is named.
const TABLES: &str = "CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE t AS SELECT 1 AS n;
    CREATE VIEW page AS SELECT 'fern' AS body,
            array_fill(0.5::real, ARRAY[256])::vector(256) AS pg_sleep
        WHERE pg_sleep(3600) IS NOT NULL";

/// Calls that would take an hour, each by a different way of execution.
fn calls() -> Vec<Value> {
    let tool = |name: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": name, "method": "tools/call",
            "params": {"name": name, "arguments": arguments}})
    };
    vec![
        // Executed in one round trip, in several steps, and unchanged.
        tool("query_database", json!({"query": "SELECT pg_sleep(3600)"})),
        tool(
            "query_database",
            json!({"query": "SELECT pg_sleep(3600), ';'"}),
        ),
        tool(
            "query_database",
            json!({"query": "EXPLAIN ANALYZE SELECT pg_sleep(3600)"}),
        ),
        tool(
            "count_rows",
            json!({"table": "t", "where": "pg_sleep(3600) IS NULL"}),
        ),
        tool("execute_explain", json!({"query": "SELECT pg_sleep(3600)"})),
        tool("read_resource", json!({"uri": "custom://slow"})),
        json!({"jsonrpc": "2.0", "id": 7, "method": "resources/read",
            "params": {"uri": "custom://slow"}}),
        tool(
            "similarity_search",
            json!({"query_text": "fern", "table_name": "page"}),
        ),
    ]
}

/// Creates a server with one connection per session, so that a leaked connection is noticed.
fn home(postgres: &Postgres) -> Home {
    let home = Home::new();
    let path = home.file("own.yaml");
    let slow = "{uri: custom://slow, name: Slow, type: sql, sql: SELECT pg_sleep(3600)}";
    fs::write(&path, format!("resources: [{slow}]")).expect("written");
    home.configure(&format!(
        "databases:\n{}    pool_max_conns: 1\n    query_timeout: \"0\"\n\
         custom_definitions_path: {}\nembedding: {{enabled: true, provider: local}}\n",
        postgres.entry("main"),
        path.display()
    ));
    home
}

#[test]
fn a_client_that_disconnects_cancels_its_statement() {
    let postgres = Postgres::with(TABLES);
    let home = home(&postgres);
    let token = home.token("main");
    let (_program, stranger) = home.serve(&[]);
    let client = stranger.bearing(&token);
    for call in calls() {
        let body = call.to_string();
        let length = body.len();
        let mut stream = TcpStream::connect(client.address()).expect("listening");
        let request = format!(
            "POST /mcp/v1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        postgres.wait_for_running("pg_sleep", 1);
        stream.shutdown(Shutdown::Both).expect("open");
        drop(stream);
        postgres.wait_for_running("pg_sleep", 0);
        assert!(
            client.query("SELECT 1 AS one").ends_with("one\n1"),
            "{call}"
        );
    }
}

#[test]
fn a_client_that_stops_reading_a_result_frees_its_connection() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    pool_max_conns: 1\n    row_limit: 1000000\n",
        postgres.entry("main")
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    let query = "SELECT g, repeat('x', 200) FROM generate_series(1, 200000) g";
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "query_database", "arguments": {"query": query}}});
    for _ in 0..3 {
        let answer = client.begin("/mcp/v1", &call.to_string());
        drop(answer);
        // The session has only one connection.
        assert!(client.query("SELECT 1 AS one").ends_with("one\n1"));
    }
}

#[test]
fn a_cancelled_call_ends_its_statement_and_is_not_answered() {
    let postgres = Postgres::with(TABLES);
    let home = home(&postgres);
    let (_program, mut stdio) = home.stdio(&[]);
    for call in calls() {
        stdio.send(&call);
        postgres.wait_for_running("pg_sleep", 1);
        // Ids of other requests, and a string instead of the number.
        for other in [
            json!(null),
            json!(8),
            json!("7"),
            json!(["query_database"]),
            json!("x"),
        ] {
            let params = json!({"requestId": other});
            stdio.send(
                &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
            );
        }
        stdio.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        assert_eq!(stdio.receive()["id"], 1);
        postgres.wait_for_running("pg_sleep", 1);
        let params = json!({"requestId": call["id"], "reason": "changed my mind"});
        stdio.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
        postgres.wait_for_running("pg_sleep", 0);
        // The next message answers another request.
        let (text, is_error) = stdio.tool("query_database", &json!({"query": "SELECT 1 AS one"}));
        assert!(!is_error && text.ends_with("one\n1"), "{call}: {text}");
    }
    stdio.hang_up();
    assert!(stdio.is_over());
}

#[test]
fn initialize_cannot_be_cancelled() {
    let home = Home::new();
    let (_program, mut stdio) = home.stdio(&[]);
    for id in 0..20 {
        stdio.send_bytes(
            format!(
                "{}\n{}\n",
                json!({"jsonrpc": "2.0", "id": id, "method": "initialize"}),
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": id}}),
            )
            .as_bytes(),
        );
        let answer = stdio.receive();
        assert_eq!(answer["id"], id);
        assert!(answer["result"].is_object(), "{answer}");
    }
}
