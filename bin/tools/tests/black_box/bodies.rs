//! Tests of the budget of request bodies, and of the length of statements.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
};

use serde_json::json;

use crate::{
    revisions::result,
    support::{Client, Home, Postgres, connect, memory, until},
};

/// Length of the bodies, of which a caller may hold one at once, and all callers three.
const LENGTH: usize = 10_000_000;

const SHARE: &str =
    r#"{"error":"Too many large requests of this caller are in progress. Try again later."}"#;

const BUDGET: &str = r#"{"error":"Too many large requests are in progress. Try again later."}"#;

/// Requests with bodies that do not arrive to their end.
#[derive(Default)]
struct Unfinished(Vec<(TcpStream, Vec<u8>)>);

impl Unfinished {
    /// Begins a request, and sends this part of its body.
    fn begin(&mut self, client: &Client, part: usize) {
        let mut stream = connect(client.address());
        let token = client.token().expect("a token");
        let head = format!(
            "POST /mcp/v1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {LENGTH}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("sent");
        // The server may refuse it meanwhile.
        stream.write_all(&vec![b' '; part]).ok();
        stream.set_nonblocking(true).expect("set");
        self.0.push((stream, Vec::new()));
    }

    /// Returns the answers so far.
    fn answers(&mut self) -> Vec<String> {
        let mut answers = Vec::new();
        for (stream, answer) in &mut self.0 {
            let mut piece = [0; 4096];
            loop {
                match stream.read(&mut piece) {
                    Ok(0) => break,
                    Ok(read) => answer.extend_from_slice(&piece[..read]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            if !answer.is_empty() {
                answers.push(String::from_utf8_lossy(answer).into_owned());
            }
        }
        answers
    }

    /// Waits until all but one are refused, and checks what they read.
    fn are_refused(&mut self, status: &str, body: &str) {
        let expected = self.0.len() - 1;
        until("all but one are refused", || {
            self.answers().len() == expected
        });
        for answer in self.answers() {
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{answer}"
            );
            assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
            assert!(answer.ends_with(body), "{answer}");
        }
    }
}

#[test]
fn large_bodies_of_one_token_take_its_share_and_each_other_one_reads_why() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let tokens: Vec<_> = (0..4).map(|_| home.token("main")).collect();
    let (program, stranger) = home.serve(&[]);
    let clients: Vec<_> = tokens.iter().map(|token| stranger.bearing(token)).collect();
    let mut unfinished = Unfinished::default();
    for part in [0, 70_000, 1_000_000] {
        for _ in 0..10 {
            unfinished.begin(&clients[0], part);
        }
    }
    unfinished.are_refused("429", SHARE);
    // The others have their own share, and small calls of the same token pass.
    let padded = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}{}"#,
        " ".repeat(9_000_000)
    );
    for client in &clients {
        client.query("SELECT 1");
    }
    assert_eq!(clients[1].post("/mcp/v1", &padded).status, 200);
    assert_eq!(clients[0].post("/api/query", &padded).body, SHARE);
    let mut whole = Vec::new();
    for client in &clients[1..3] {
        let mut one = Unfinished::default();
        one.begin(client, 9_900_000);
        one.begin(client, 0);
        one.are_refused("429", SHARE);
        whole.push(one);
    }
    let answer = clients[3].post("/mcp/v1", &padded);
    assert_eq!((answer.status, &*answer.body), (503, BUDGET));
    assert_eq!(answer.header("retry-after"), Some("1"));
    clients[3].query("SELECT 1");
    // Their bytes are free again when they hang up.
    drop((unfinished, whole));
    until("there is room", || {
        clients[3].post("/mcp/v1", &padded).status == 200
    });
    if let Some((peak, _)) = memory(&program) {
        assert!(peak < 160 << 10, "{} MiB", peak >> 10);
    }
}

#[test]
fn a_statement_is_refused_from_its_limit_on_and_the_refusal_names_the_key() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&format!(
        "limits: {{max_statement_bytes: 2000}}\ndatabases:\n{}",
        postgres.entry("main")
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    let of = |length: usize| format!("SELECT 1 AS n /*{}*/", "x".repeat(length - 18));
    let said = "query rejected: it has 2001 bytes, more than the 2000 that the server takes \
                (limits.max_statement_bytes), send it in smaller parts";
    let negotiated = |sql: &str| {
        let arguments = json!({"query": sql});
        let params = json!({"name": "query_database", "arguments": arguments});
        result(&client, "tools/call", &params)
    };
    client.query(&of(2000));
    assert_ne!(negotiated(&of(2000))["isError"], true);
    let (text, is_error) = client.tool("query_database", &json!({"query": of(2001)}));
    assert!(is_error && text.contains(said), "{text}");
    let refused = negotiated(&of(2001));
    assert!(refused.to_string().contains(said), "{refused}");
    for (path, status) in [("/api/query", 200), ("/api/exports", 400)] {
        let body = |length| json!({"sql": of(length), "format": "csv"}).to_string();
        let answer = client.post(path, &body(2001));
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.body.contains(said), "{answer:?}");
        assert!(answer.body.contains(r#""code":"refused""#), "{answer:?}");
        let answer = client.post(path, &body(2000));
        assert!(
            matches!(answer.status, 200 | 201) && !answer.body.contains("error"),
            "{answer:?}"
        );
    }
}

#[test]
fn a_long_message_of_postgresql_is_cut_and_its_connection_goes_on() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (program, client) = home.serve(&["-no-auth"]);
    let process = || client.query("SELECT pg_backend_pid()");
    let before = process();
    for length in [10_000_000, 100_000_000] {
        let sql = format!("SELECT repeat('x', {length})::int");
        let (text, is_error) = client.tool("query_database", &json!({"query": sql}));
        assert!(is_error && text.len() < 20_000, "{} bytes", text.len());
        assert!(
            text.contains("invalid input syntax for type integer: \"xxx"),
            "{text}"
        );
        assert!(text.contains("22P02"), "{text}");
        assert_eq!(process(), before, "the connection goes on");
        let body = json!({"sql": sql}).to_string();
        let answer = client.post("/api/query", &body);
        assert!(
            answer.body.len() < 20_000 && answer.body.contains("22P02"),
            "{answer:?}"
        );
    }
    if let Some((peak, _)) = memory(&program) {
        assert!(peak < 160 << 10, "{} MiB", peak >> 10);
    }
}
