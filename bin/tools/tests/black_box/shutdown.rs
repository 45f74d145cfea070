//! Tests of the shutdown of the server.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Client, Home, Postgres, Program, connect, received, until};

/// Time that clients allow for the shutdown.
const PROMPT: Duration = Duration::from_secs(2);

/// Counts the running statements that contain a word.
fn running(postgres: &Postgres, word: &str) -> i64 {
    postgres.count(&format!(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> \
         pg_backend_pid() AND query LIKE '%{word}%' AND query NOT LIKE '%pg_stat_activity%'"
    ))
}

/// Counts the connections of the program, busy or not.
fn connections(postgres: &Postgres) -> i64 {
    postgres.count(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> \
         pg_backend_pid() AND backend_type = 'client backend'",
    )
}

fn assert_ends_well(program: &mut Program, asked: Instant) {
    let status = program.ended();
    let took = asked.elapsed();
    assert_eq!(status.code(), Some(0), "{}", program.log());
    assert!(took < PROMPT, "it took {took:?}");
}

/// Runs a slow statement on its own thread.
fn ask(client: &Client, query: &str) -> thread::JoinHandle<(String, bool)> {
    let (client, arguments) = (client.clone(), json!({"query": query}));
    thread::spawn(move || client.tool("query_database", &arguments))
}

#[test]
fn either_signal_ends_an_idle_server() {
    let postgres = Postgres::new();
    for signal in [Signal::TERM, Signal::INT] {
        let home = Home::with(&postgres);
        let (mut program, client) = home.serve(&["-no-auth"]);
        client.query("SELECT 1");
        // An idle keep-alive connection does not delay the shutdown.
        let mut idle = connect(client.address());
        let request = format!("GET /health HTTP/1.1\r\nhost: {}\r\n\r\n", client.address());
        idle.write_all(request.as_bytes()).expect("sent");
        assert!(idle.read(&mut [0; 1024]).expect("answered") > 0);

        let asked = Instant::now();
        program.signal(signal);
        assert_ends_well(&mut program, asked);
        until("connections are closed", || connections(&postgres) == 0);
        assert!(TcpStream::connect(client.address()).is_err());
    }
}

#[test]
fn a_request_in_flight_is_answered_before_the_end() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (mut program, client) = home.serve(&["-no-auth"]);
    let answer = ask(&client, "SELECT 'finished' AS how FROM pg_sleep(0.7)");
    until("it runs", || running(&postgres, "finished") == 1);
    let asked = Instant::now();
    program.signal(Signal::TERM);
    assert_ends_well(&mut program, asked);
    let (text, is_error) = answer.join().expect("answered");
    assert!(!is_error && text.ends_with("how\nfinished"), "{text}");
}

#[test]
fn a_server_that_delays_its_end_says_so_and_answers_meanwhile() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&format!(
        "limits: {{shutdown_delay: 2s}}\ndatabases:\n{}",
        postgres.entry("main")
    ));
    let (mut program, client) = home.serve(&["-no-auth"]);
    let asked = Instant::now();
    program.signal(Signal::TERM);
    until("it reports its end", || client.get("/ready").status == 503);
    assert_eq!(client.get("/ready").json()["status"], "stopping");
    assert!(
        client
            .query("SELECT 'still here' AS how")
            .contains("still here")
    );
    assert_eq!(program.ended().code(), Some(0), "{}", program.log());
    assert!(
        asked.elapsed() >= Duration::from_secs(2),
        "{:?}",
        asked.elapsed()
    );
}

#[test]
fn a_request_that_takes_longer_than_the_grace_period_is_cancelled_with_an_error() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&format!(
        "limits: {{shutdown_grace: 500ms}}\ndatabases:\n{}",
        postgres.entry("main")
    ));
    let (mut program, client) = home.serve(&["-no-auth"]);
    let mut stream = TcpStream::connect(client.address()).expect("listening");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "query_database",
        "arguments": {"query": "SELECT 'endless' FROM pg_sleep(300)"},
    }});
    let body = body.to_string();
    let (host, length) = (client.address(), body.len());
    let head = format!("POST /mcp/v1 HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all((head + &body).as_bytes()).expect("sent");
    until("it runs", || running(&postgres, "endless") == 1);
    let asked = Instant::now();
    program.signal(Signal::TERM);
    assert_ends_well(&mut program, asked);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let expected = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Tool execution error","data":"the server is shutting down"}}"#;
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(expected),
        "{answer}"
    );
    until("it is cancelled", || running(&postgres, "endless") == 0);
    until("connections are closed", || connections(&postgres) == 0);
}

#[test]
fn a_stream_of_events_that_is_cut_off_ends_with_an_error() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&format!(
        "limits: {{shutdown_grace: 100ms}}\ndatabases:\n{}",
        postgres.entry("main")
    ));
    let (mut program, client) = home.serve(&["-no-auth"]);
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "query_database",
        "arguments": {"query": "SELECT pg_sleep(300)"},
        "_meta": {"progressToken": "p"},
    }});
    let headers = "content-type: application/json\r\nmcp-protocol-version: 2025-11-25\r\n\
                   accept: application/json, text/event-stream\r\n";
    let mut stream = client.open("/mcp", headers, &call.to_string(), "\"progress\":3.0");
    program.signal(Signal::TERM);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("whole chunks");
    assert!(rest.contains("the server is shutting down"), "{rest}");
    assert!(rest.contains(r#""id":7,"error""#), "{rest}");
    assert!(rest.ends_with("0\r\n\r\n"), "the last chunk: {rest}");
    assert_eq!(program.ended().code(), Some(0));
}

#[test]
fn rows_of_a_statement_that_is_cut_off_end_with_an_error() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&format!(
        "limits: {{shutdown_grace: 100ms}}\ndatabases:\n{}",
        postgres.entry("main")
    ));
    let (mut program, client) = home.serve(&["-no-auth"]);
    let body = json!({"sql": "SELECT 'endless', pg_sleep(300)"}).to_string();
    let headers = "content-type: application/json\r\n";
    let mut stream = client.open("/api/query", headers, &body, "started");
    until("it runs", || running(&postgres, "endless") == 1);
    program.signal(Signal::TERM);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("whole chunks");
    assert!(rest.ends_with("0\r\n\r\n"), "the last chunk: {rest}");
    let last = rest.lines().rfind(|line| line.starts_with('{'));
    let last: Value = serde_json::from_str(last.expect("a line")).expect("JSON");
    assert_eq!(last["error"]["code"], "cancelled", "{last}");
    assert_eq!(last["error"]["message"], "the server is shutting down");
    assert_eq!(program.ended().code(), Some(0));
    until("it is cancelled", || running(&postgres, "endless") == 0);
}

#[test]
fn the_end_of_standard_input_ends_the_server() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (mut program, mut stdio) = home.stdio(&[]);
    let (text, _) = stdio.tool("query_database", &json!({"query": "SELECT 1"}));
    assert!(text.ends_with('1'), "{text}");
    let asked = Instant::now();
    stdio.hang_up();
    assert!(stdio.is_over());
    assert_ends_well(&mut program, asked);
}

#[test]
fn requests_before_the_end_of_standard_input_are_answered() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (mut program, mut stdio) = home.stdio(&[]);
    // The connection exists already, so that only the statement takes time.
    stdio.tool("query_database", &json!({"query": "SELECT 1"}));
    let asked = Instant::now();
    stdio.send(
        &json!({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": {
            "name": "query_database",
            "arguments": {"query": "SELECT 'late' FROM pg_sleep(0.3)"},
        }}),
    );
    stdio.hang_up();
    assert_eq!(stdio.receive()["id"], "last");
    assert!(stdio.is_over());
    assert_ends_well(&mut program, asked);
}

#[test]
fn a_long_statement_is_cancelled_at_the_end_of_standard_input() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (mut program, mut stdio) = home.stdio(&[]);
    stdio.send(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "query_database",
            "arguments": {"query": "SELECT 'abandoned' FROM pg_sleep(300)"},
        }}),
    );
    until("it runs", || running(&postgres, "abandoned") == 1);
    let asked = Instant::now();
    stdio.hang_up();
    let answer = stdio.receive();
    assert_eq!(answer["error"]["data"], "the server is shutting down");
    assert_ends_well(&mut program, asked);
    until("it is cancelled", || running(&postgres, "abandoned") == 0);
}

#[test]
fn a_signal_also_ends_a_server_on_standard_input_and_output() {
    for signal in [Signal::TERM, Signal::INT] {
        let (mut program, mut stdio) = Home::new().stdio(&[]);
        stdio.call(&json!(1), "initialize", &json!({}));
        let asked = Instant::now();
        program.signal(signal);
        assert_ends_well(&mut program, asked);
        assert!(stdio.is_over());
    }
}

#[test]
fn a_database_that_never_answers_does_not_delay_the_shutdown() {
    let silence = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silence.local_addr().expect("bound").port();
    let home = Home::new();
    home.configure(&format!(
        "limits: {{shutdown_grace: 500ms}}\ndatabases:\n  - {{name: main, host: 127.0.0.1, port: \
         {port}, user: a}}\n"
    ));
    let (mut program, client) = home.serve(&["-no-auth"]);
    let (client, arguments) = (client.clone(), json!({"query": "SELECT 1"}));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "query_database", "arguments": arguments}});
    let mut stream = TcpStream::connect(client.address()).expect("listening");
    let (host, body) = (client.address(), call.to_string());
    let length = body.len();
    let head = format!("POST /mcp/v1 HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all((head + &body).as_bytes()).expect("sent");
    // The server is busy as soon as it has connected.
    let (accepted, connection) = mpsc::channel();
    thread::spawn(move || accepted.send(silence.accept()).ok());
    received(&connection).expect("a connection");
    let asked = Instant::now();
    program.signal(Signal::TERM);
    assert_ends_well(&mut program, asked);
}
