//! Tests of the list of running statements, and of cancelling them: `/api/activity`.

mod audit_search;
mod permissions;

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, Home, Postgres, Program, connect, records, records::PASSWORD, until,
};

const PATH: &str = "/api/activity";
const TOKEN: &str = "an-API-token-of-a-test";
const SLEEP: &str = "SELECT pg_sleep(3600)";

/// A table to count, and an embedding that takes an hour to compare.
const TABLES: &str = "CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE t AS SELECT 1 AS n;
    CREATE VIEW page AS SELECT 'fern' AS body,
            array_fill(0.5::real, ARRAY[256])::vector(256) AS pg_sleep
        WHERE pg_sleep(3600) IS NOT NULL";

/// A server with the administrator ada, the user bob and an API token, each with one connection, so
/// that a leaked one is noticed.
struct Server {
    postgres: Postgres,
    home: Home,
    program: Program,
    client: Client,
}

impl Server {
    fn new(more: &str, arguments: &[&str]) -> Self {
        Self::with(more, arguments, "")
    }

    /// Starts a server that has a file `own.yaml` with these definitions.
    fn with(more: &str, arguments: &[&str], definitions: &str) -> Self {
        let postgres = Postgres::with(TABLES);
        let home = Home::new();
        home.configure(&format!(
            "databases:\n{}    pool_max_conns: 1\n    query_timeout: \"0\"\n\
             embedding: {{enabled: true, provider: local}}\n{more}",
            postgres.entry("main"),
        ));
        std::fs::write(home.file("own.yaml"), definitions).expect("written");
        let token = records::token(1, TOKEN, &["database: main"]);
        home.replace(&home.tokens(), &records::tokens(&[token]));
        let users = [("ada", &["admin: true"][..]), ("bob", &[]), ("eve", &[])];
        let users = users.map(|(name, more)| records::user(name, more));
        home.replace(&home.users(), &records::users(&users));
        let (program, client) = home.serve(arguments);
        Self {
            postgres,
            home,
            program,
            client,
        }
    }

    fn user(&self, name: &str) -> Client {
        self.client.logged_in(name, PASSWORD)
    }

    /// Waits until this number of statements sleep in PostgreSQL.
    fn wait_for_sleepers(&self, number: usize) {
        self.postgres.wait_for_running("pg_sleep", number);
    }
}

fn list(client: &Client, query: &str) -> Value {
    let answer = client.get(&format!("{PATH}{query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    answer.json()
}

/// Returns the statements that run.
fn running(client: &Client, query: &str) -> Vec<Value> {
    let list = list(client, query);
    list["running"].as_array().expect("a list").clone()
}

/// Waits for the one statement that runs, and returns it.
fn only(client: &Client, query: &str) -> Value {
    let mut found = Vec::new();
    until("one statement is listed", || {
        found = running(client, query);
        found.len() == 1
    });
    found.remove(0)
}

fn cancel(client: &Client, statement: &Value) -> Answer {
    let id = statement["id"].as_str().expect("an id");
    client.post(&format!("{PATH}/{id}/cancel"), "")
}

fn check(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.json()["code"], code, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

fn assert_cancelled(answer: &Answer) {
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.json(), json!({"cancelling": true}));
}

/// Sends a request, and returns its connection.
pub(crate) fn send(client: &Client, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = connect(client.address());
    let token = client.token().expect("a session");
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         authorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("sent");
    stream
}

/// Returns the rest of an answer.
fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // An answer that is not whole may end with an error.
    stream.read_to_end(&mut bytes).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the path of an export.
fn export(client: &Client, sql: &str) -> String {
    let body = json!({"sql": sql, "format": "csv"}).to_string();
    let link = client.post("/api/exports", &body).json();
    link["href"].as_str().expect("a link").to_owned()
}

/// Returns a call of a tool with a statement that takes an hour.
fn call(tool: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": {"query": SLEEP}}})
    .to_string()
}

/// Calls of tools that would take an hour, each by a different way of execution.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("query_database", json!({"query": SLEEP})),
        (
            "query_database",
            json!({"query": "SELECT pg_sleep(3600), ';'"}),
        ),
        (
            "count_rows",
            json!({"table": "t", "where": "pg_sleep(3600) IS NULL"}),
        ),
        ("execute_explain", json!({"query": SLEEP})),
        (
            "similarity_search",
            json!({"query_text": "fern", "table_name": "page"}),
        ),
    ]
}

#[test]
fn a_running_statement_is_listed_and_cancelled_by_its_caller_or_an_administrator() {
    let server = Server::new("", &[]);
    let [ada, bob, eve] = ["ada", "bob", "eve"].map(|name| server.user(name));
    for (tool, arguments) in calls() {
        for (canceller, by) in [(&bob, "by its caller"), (&ada, "by an administrator")] {
            thread::scope(|scope| {
                let call = scope.spawn(|| bob.tool(tool, &arguments));
                server.wait_for_sleepers(1);
                let found = only(&bob, "");
                for (name, expected) in [
                    ("caller", json!({"kind": "user", "name": "bob"})),
                    ("via", json!("http")),
                    ("tool", json!(tool)),
                    ("database", json!("main")),
                    ("state", json!("running")),
                ] {
                    assert_eq!(found[name], expected, "{found}");
                }
                let text = found["statement"].as_str().unwrap_or_default();
                assert_eq!(text.contains("pg_sleep"), tool != "similarity_search");
                assert!(found["ms"].as_f64().expect("a number") > 0.0);
                // Another user learns nothing of it.
                assert_eq!(running(&eve, ""), [] as [Value; 0]);
                check(&cancel(&eve, &found), 404, "no_such_statement");
                check(&eve.get(&format!("{PATH}?scope=all")), 403, "not_admin");
                assert_eq!(running(&ada, ""), [] as [Value; 0]);
                assert_eq!(only(&ada, "?scope=all")["id"], found["id"]);
                assert_cancelled(&cancel(canceller, &found));
                server.wait_for_sleepers(0);
                let (text, is_error) = call.join().expect("answered");
                assert!(is_error && text.contains(by), "{tool}: {text}");
                check(&cancel(&bob, &found), 404, "no_such_statement");
            });
            // The session has only one connection.
            assert!(bob.query("SELECT 1 AS one").ends_with("one\n1"), "{tool}");
        }
    }
    let finished = list(&bob, "")["finished"].clone();
    let finished = finished.as_array().expect("a list");
    assert_eq!(finished.len(), 20, "{finished:?}");
    let ends = |tool: &str| {
        let of_tool = finished.iter().filter(|it| it["tool"] == tool);
        of_tool.map(|it| it["outcome"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ends("count_rows"), ["cancelled", "cancelled"]);
    assert_eq!(finished[0]["statement"], "SELECT 1 AS one");
    assert_eq!(
        (&finished[0]["outcome"], &finished[0]["rows"]),
        (&json!("ok"), &json!(1))
    );
    assert_eq!(list(&eve, "")["finished"], json!([]));
}

#[test]
fn a_query_and_an_export_are_listed_and_end_when_they_are_cancelled() {
    let server = Server::new("audit: {file: audit.jsonl}\n", &[]);
    let [ada, bob] = ["ada", "bob"].map(|name| server.user(name));
    let body = json!({"sql": SLEEP}).to_string();
    thread::scope(|scope| {
        let query = scope.spawn(|| bob.post("/api/query", &body));
        let found = only(&bob, "");
        assert_eq!(
            (&found["via"], &found["tool"]),
            (&json!("rest"), &json!("/api/query"))
        );
        server.wait_for_sleepers(1);
        assert_cancelled(&cancel(&ada, &found));
        server.wait_for_sleepers(0);
        let answer = query.join().expect("answered");
        let lines: Vec<Value> = answer
            .body
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines[0]["started"]["id"], found["id"]);
        let error = &lines.last().expect("a line")["error"];
        assert_eq!(error["code"], "cancelled", "{lines:?}");
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|it| it.contains("administrator"))
        );
    });
    // Rows are on their way when it is cancelled.
    let sql = "SELECT g, repeat('x', 100), CASE WHEN g = 5000 THEN pg_sleep(3600) END
        FROM generate_series(1, 5000) g";
    let stream = send(&bob, "GET", &export(&bob, sql), "");
    server.wait_for_sleepers(1);
    let found = only(&bob, "");
    assert_eq!(found["tool"], "/api/exports");
    assert_cancelled(&cancel(&bob, &found));
    server.wait_for_sleepers(0);
    assert!(!rest(stream).ends_with("0\r\n\r\n"), "it is not whole");
    assert!(bob.query("SELECT 1 AS one").ends_with("one\n1"));

    let Server {
        home, mut program, ..
    } = server;
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = std::fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let cancelled = trail
        .lines()
        .filter(|line| line.contains(r#""verdict":"cancelled""#));
    assert_eq!(cancelled.count(), 2, "{trail}");
    assert!(trail.contains("/cancel"), "{trail}");
    assert!(!trail.contains("GET /api/activity"), "{trail}");
}

#[test]
fn a_statement_that_waits_for_a_connection_is_listed_and_cancelled() {
    let server = Server::new("", &["-no-auth"]);
    let client = &server.client;
    let body = json!({"sql": "SELECT 2"}).to_string();
    thread::scope(|scope| {
        let first = scope.spawn(|| client.tool("query_database", &json!({"query": SLEEP})));
        server.wait_for_sleepers(1);
        let second = scope.spawn(|| client.post("/api/query", &body));
        until("the second waits", || running(client, "").len() == 2);
        let found = running(client, "");
        assert_eq!(found[0]["state"], "running");
        assert_eq!(found[1]["state"], "waiting");
        assert_eq!(found[1]["caller"], json!({"kind": "local", "name": null}));
        let connections = list(client, "")["connections"].clone();
        let main = &connections[0];
        assert_eq!(
            (&main["database"], &main["waiting"]),
            (&json!("main"), &json!(1))
        );
        assert!(main["in_use"].as_u64() >= Some(1), "{main}");
        assert_eq!(main["limit"], 50);
        assert_cancelled(&cancel(client, &found[1]));
        let answer = second.join().expect("answered");
        check(&answer, 503, "cancelled");
        assert_cancelled(&cancel(client, &found[0]));
        let (text, is_error) = first.join().expect("answered");
        assert!(is_error && text.contains("cancelled"), "{text}");
    });
    check(&client.get(&format!("{PATH}?scope=all")), 403, "not_admin");
    check(
        &client.get(&format!("{PATH}?scope=mine")),
        400,
        "bad_request",
    );
    check(
        &client.post(&format!("{PATH}/x/cancel"), ""),
        404,
        "no_such_statement",
    );
    assert!(client.query("SELECT 1 AS one").ends_with("one\n1"));
}

#[test]
fn times_of_the_last_minutes_are_shown_by_tool() {
    let server = Server::new("", &["-no-auth"]);
    let client = &server.client;
    for _ in 0..3 {
        client.query("SELECT 1 AS one");
    }
    client.tool("query_database", &json!({"query": "SELECT nothing"}));
    client.tool("get_schema_info", &json!({}));
    let list = list(client, "");
    let latency = list["latency"].as_array().expect("a list");
    assert_eq!(latency.len(), 1, "{latency:?}");
    let times = &latency[0];
    assert_eq!(
        (&times["tool"], &times["count"], &times["errors"]),
        (&json!("query_database"), &json!(4), &json!(1))
    );
    let at = |name: &str| times[name].as_f64().expect("a number");
    assert!(at("p50_ms") > 0.0 && at("p50_ms") <= at("p95_ms") && at("p95_ms") <= at("p99_ms"));
    assert_eq!(list["finished"][0]["code"], "42703");
    assert!(
        list["replica"]
            .as_str()
            .is_some_and(|name| name.contains(':'))
    );
}

#[test]
fn the_statements_of_the_operator_are_shown_to_administrators_only() {
    let definitions = "tools: [{name: report, description: D, statement: SELECT n FROM t}]\n\
        resources: [{uri: 'custom://n', name: n, type: sql, sql: SELECT n FROM t}]\n";
    let server = Server::with("custom_definitions_path: own.yaml\n", &[], definitions);
    let [ada, bob] = ["ada", "bob"].map(|name| server.user(name));
    let (text, is_error) = bob.tool("report", &json!({}));
    assert!(!is_error, "{text}");
    let read = bob.call("resources/read", &json!({"uri": "custom://n"}));
    assert!(read["result"]["contents"].is_array(), "{read}");
    let texts = |client: &Client, query: &str| -> Vec<Value> {
        let finished = list(client, query)["finished"].clone();
        let finished = finished.as_array().expect("a list").iter();
        finished.map(|it| it["statement"].clone()).collect()
    };
    assert_eq!(texts(&bob, ""), ["resources/read", "report"]);
    let of_all = texts(&ada, "?scope=all");
    assert_eq!(of_all.len(), 2, "{of_all:?}");
    assert!(
        of_all
            .iter()
            .all(|it| it.as_str().is_some_and(|it| it.contains("FROM t")))
    );
}

#[test]
fn a_request_for_the_statements_of_all_callers_is_recorded() {
    let server = Server::new("audit: {file: audit.jsonl}\n", &[]);
    let [ada, bob] = ["ada", "bob"].map(|name| server.user(name));
    list(&ada, "");
    list(&ada, "?scope=own");
    list(&ada, "?scope=%61ll");
    check(&bob.get(&format!("{PATH}?scope=all")), 403, "not_admin");
    let Server {
        home, mut program, ..
    } = server;
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = std::fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let records = trail.lines().map(serde_json::from_str::<Value>);
    let records = records.map(|record| record.expect("JSON"));
    let listed = records.filter(|it| it["method"] == "GET /api/activity");
    let listed = listed.map(|it| (it["caller"]["name"].clone(), it["verdict"].clone()));
    let expected =
        [("ada", "ok"), ("bob", "denied")].map(|(name, verdict)| (json!(name), json!(verdict)));
    assert_eq!(listed.collect::<Vec<_>>(), expected, "{trail}");
}

#[test]
fn texts_of_statements_are_not_shown_if_the_operator_does_not_want_it() {
    let server = Server::new("log: {activity_statements: false}\n", &["-no-auth"]);
    server.client.query("SELECT 'secret' AS one");
    let answer = server.client.get(PATH);
    assert!(!answer.body.contains("secret"), "{answer:?}");
    let finished = &answer.json()["finished"][0];
    assert_eq!(finished["statement"], Value::Null);
    assert_eq!(finished["tool"], "query_database");
}

/// The times are reported and not compared: the machine has other work too.
#[test]
fn a_hundred_statements_that_are_cancelled_or_left_end_and_leave_their_pool_whole() {
    let server = Server::new("", &[]);
    let bob = server.user("bob");
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..100 {
        let stream = match round % 4 {
            0 => send(
                &bob,
                "POST",
                "/api/query",
                &json!({"sql": SLEEP}).to_string(),
            ),
            1 => send(&bob, "GET", &export(&bob, SLEEP), ""),
            2 => send(&bob, "POST", "/mcp/v1", &call("execute_explain")),
            _ => send(&bob, "POST", "/mcp/v1", &call("query_database")),
        };
        server.wait_for_sleepers(1);
        let found = only(&bob, "");
        let is_cancelled = round / 4 % 2 == 0;
        let began = Instant::now();
        if is_cancelled {
            assert_cancelled(&cancel(&bob, &found));
        } else {
            stream.shutdown(Shutdown::Both).expect("open");
        }
        server.wait_for_sleepers(0);
        times[usize::from(is_cancelled)].push(began.elapsed());
        if is_cancelled {
            let answer = rest(stream);
            // A file that is cut off cannot tell why.
            let is_told = match round % 4 {
                1 => !answer.ends_with("0\r\n\r\n"),
                _ => answer.contains("cancelled"),
            };
            assert!(is_told, "{answer}");
        }
    }
    for (mut times, how) in times.into_iter().zip(["left", "cancelled"]) {
        times.sort();
        let [half, last] = [times[times.len() / 2], times[times.len() - 1]];
        println!("statements that were {how}: half ended within {half:?}, all within {last:?}");
        assert!(last < Duration::from_secs(10), "{last:?}");
    }
    assert!(bob.query("SELECT 1 AS one").ends_with("one\n1"));
    assert_eq!(list(&bob, "")["running"], json!([]));
}
