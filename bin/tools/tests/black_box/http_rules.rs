//! Tests of HTTP rules for all paths.

use std::{
    io::{Read as _, Write as _},
    net::Shutdown,
};

use serde_json::{Value, json};

use crate::support::{Answer, Client, Home, Program, connect};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

const NO_PATH: &str = r#"{"error":"Not found"}"#;
const NO_METHOD: &str = r#"{"error":"Method not allowed"}"#;
const NO_TOKEN: &str = r#"{"error":"Missing Authorization header"}"#;
const TOO_LARGE: &str = r#"{"error":"Request body too large"}"#;

/// Creates a folder with a database that the tests do not use.
fn home(more: &str) -> Home {
    let home = Home::new();
    home.configure(&format!(
        "databases: [{{name: main, host: 127.0.0.1, port: 1, user: nobody}}]\n{more}"
    ));
    home
}

fn open(more: &str) -> (Home, Program, Client) {
    let home = home(more);
    let (program, client) = home.serve(&["-no-auth"]);
    (home, program, client)
}

/// Checks the status and the body of a response, and the headers of every response.
fn check(answer: &Answer, status: u16, body: &str) {
    assert_eq!((answer.status, &*answer.body), (status, body), "{answer:?}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "strict-origin-when-cross-origin"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{answer:?}");
    }
    for name in ["strict-transport-security", "mcp-session-id"] {
        assert_eq!(answer.header(name), None, "{answer:?}");
    }
    let expected = (!body.is_empty()).then_some("application/json");
    if status != 200 {
        assert_eq!(answer.header("content-type"), expected, "{answer:?}");
    }
}

#[test]
fn known_paths_are_served_and_others_are_not_found() {
    let (_home, _program, client) = open("");
    for path in [
        "/",
        "/mcp/v1/",
        "/mcp/v2",
        "/MCP/v1",
        "/mcp/v1/x",
        "/health/",
        "/healthy",
        "/api/nothing",
        "/%6dcp/v1",
        "/..",
        "/.well-known/oauth-protected-resource",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            check(&client.send(method, path, "", ""), 404, NO_PATH);
        }
    }
    check(&client.post("/mcp/v1?x=1", PING), 200, PONG);
    for method in ["GET", "HEAD", "PUT", "PATCH", "DELETE", "BREW"] {
        let answer = client.send(method, "/mcp/v1", "", "");
        let body = if method == "HEAD" { "" } else { NO_METHOD };
        assert_eq!((answer.status, &*answer.body), (405, body), "{answer:?}");
        assert_eq!(answer.header("allow"), Some("POST"), "{answer:?}");
    }
    let answer = client.post("/health", "");
    check(&answer, 405, NO_METHOD);
    let allowed = answer.header("allow").expect("a list");
    let allowed: Vec<_> = allowed.split(", ").collect();
    assert_eq!(allowed, ["GET", "HEAD"]);
    let answer = client.send("HEAD", "/health", "", "");
    check(&answer, 200, "");
    let health = client.get("/health");
    let version = env!("CARGO_PKG_VERSION");
    let expected = json!({"status": "ok", "server": "ziggurat-tools", "version": version});
    assert_eq!(health.json(), expected);
    check(&health, 200, &health.body);
}

#[test]
fn a_token_is_required_before_any_other_check() {
    let home = home("");
    let token = home.token("main");
    let (_program, stranger) = home.serve(&[]);
    let client = stranger.bearing(&token);
    let unauthorized = |answer: &Answer, text: &str| {
        check(answer, 401, text);
        let challenge = answer.header("www-authenticate").expect("a challenge");
        let (scheme, more) = challenge.split_at(challenge.len().min(6));
        assert_eq!(scheme, "Bearer");
        // Only a request with a token may get an error code.
        assert!(more.is_empty() || text != NO_TOKEN, "{challenge}");
    };
    for (method, path) in [
        ("GET", "/nowhere"),
        ("POST", "/"),
        ("GET", "/api/user/info"),
        ("POST", "/mcp/v1"),
        ("GET", "/health/"),
        ("GET", "/%2ewell-known/x"),
    ] {
        unauthorized(&stranger.send(method, path, "", ""), NO_TOKEN);
    }
    // The token is also checked before the message is parsed.
    for body in ["", "{", "[]", PING, r#"{"jsonrpc":"2.0","method":"x"}"#] {
        unauthorized(&stranger.post("/mcp/v1", body), NO_TOKEN);
    }
    for (header, text) in [
        (
            "Basic abc",
            "Invalid Authorization header format. Expected: Bearer <token>",
        ),
        (
            "Bearer",
            "Invalid Authorization header format. Expected: Bearer <token>",
        ),
        (
            "Bearer a b",
            "Invalid Authorization header format. Expected: Bearer <token>",
        ),
        ("Bearer abc", "Invalid or unknown token"),
    ] {
        let header = format!("authorization: {header}\r\n");
        let text = json!({"error": text}).to_string();
        unauthorized(&stranger.send("POST", "/mcp/v1", &header, PING), &text);
    }
    check(&client.get("/nowhere"), 404, NO_PATH);
    check(&client.post("/mcp/v1", PING), 200, PONG);
    let scheme = format!("authorization: bEARER {token}\r\n");
    check(&stranger.send("POST", "/mcp/v1", &scheme, PING), 200, PONG);
    // Paths at which a client looks for an authorization server.
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp/v1",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
    ] {
        check(&stranger.get(path), 404, NO_PATH);
    }
    assert_eq!(stranger.get("/health").status, 200);
}

#[test]
fn headers_of_the_protocol_are_neither_required_nor_used() {
    let (_home, _program, client) = open("");
    for headers in [
        "",
        "content-type: text/plain\r\n",
        "content-type: application/json\r\naccept: text/html\r\n",
        "accept: application/json, text/event-stream\r\n",
        "mcp-protocol-version: 1999-01-01\r\n",
        "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\nmcp-name: x\r\n",
        "mcp-session-id: abc\r\nlast-event-id: 7\r\n",
    ] {
        let answer = client.send("POST", "/mcp/v1", headers, PING);
        check(&answer, 200, PONG);
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

#[test]
fn a_body_may_have_ten_megabytes_and_no_more() {
    let (_home, _program, client) = open("");
    let padded = |length: usize| format!("{PING}{}", " ".repeat(length - PING.len()));
    check(&client.post("/mcp/v1", &padded(10 << 20)), 200, PONG);
    // One byte more is refused, both by its declared length and while it is sent.
    let head = "POST /mcp/v1 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
    let announced = format!("{head}content-length: {}\r\n\r\n", (10 << 20) + 1);
    check(&client.exchange(announced.as_bytes()), 413, TOO_LARGE);
    let mut chunked = format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(1 << 16));
    for _ in 0..=160 {
        chunked.extend_from_slice(chunk.as_bytes());
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    check(&client.exchange(&chunked), 413, TOO_LARGE);
    check(&client.post("/mcp/v1", PING), 200, PONG);

    let (_home, _program, client) = open("limits: {max_body_bytes: 2000}\n");
    check(&client.post("/mcp/v1", &padded(2000)), 200, PONG);
    check(&client.post("/mcp/v1", &padded(2001)), 413, TOO_LARGE);

    let (_home, _program, client) = open("limits: {max_body_bytes: 12000000}\n");
    for path in ["/mcp/v1", "/mcp"] {
        check(&client.post(path, &padded(12_000_000)), 200, PONG);
        check(&client.post(path, &padded(12_000_001)), 413, TOO_LARGE);
    }
}

#[test]
fn a_body_that_does_not_arrive_in_time_is_408_on_every_path() {
    let (_home, _program, client) = open("limits: {body_timeout: 200ms}\n");
    let late = r#"{"error":"The request body did not arrive in time"}"#;
    for path in ["/mcp/v1", "/mcp", "/api/chat/compact"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: 9\r\n\r\n{{}}"
        );
        let answer = client.exchange(head.as_bytes());
        check(&answer, 408, late);
        assert_eq!(answer.header("connection"), Some("close"), "{path}");
    }
}

#[test]
fn a_body_may_be_chunked_and_must_be_complete() {
    let (_home, _program, client) = open("");
    let head = "POST /mcp/v1 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
    let (one, two) = PING.split_at(7);
    let chunks = format!(
        "{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{one}\r\n{:X};x=y\r\n{two}\r\n0\r\na: b\r\n\r\n",
        one.len(),
        two.len()
    );
    check(&client.exchange(chunks.as_bytes()), 200, PONG);
    let unreadable = r#"{"error":"Failed to read request body"}"#;
    for rest in [
        "transfer-encoding: chunked\r\n\r\nzz\r\n",
        "transfer-encoding: chunked\r\n\r\n2\r\n{}}\r\n",
    ] {
        let answer = client.exchange(format!("{head}{rest}").as_bytes());
        check(&answer, 400, unreadable);
    }
    // An empty body, and one that is not text, are not JSON.
    for body in [
        &b""[..],
        b"\xff\xfe",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
    ] {
        let mut request = format!("{head}content-length: {}\r\n\r\n", body.len()).into_bytes();
        request.extend_from_slice(body);
        let answer = client.exchange(&request);
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
        assert_eq!(answer["id"], Value::Null, "{answer}");
        assert!(answer["error"]["data"].is_string(), "{answer}");
    }
}

#[test]
fn a_connection_is_reused() {
    let (_home, _program, client) = open("");
    let mut stream = connect(client.address());
    let length = PING.len();
    let request = format!(
        "POST /mcp/v1 HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{PING}"
    );
    // Two requests in sequence, then two at once, answered in order.
    for times in [1, 1, 2] {
        let requests = request.repeat(times);
        stream.write_all(requests.as_bytes()).expect("sent");
        let mut answer = String::new();
        let mut buffer = [0; 4096];
        while answer.matches(PONG).count() < times {
            let read = stream.read(&mut buffer).expect("open");
            assert_ne!(read, 0, "hung up after {answer}");
            answer.push_str(str::from_utf8(&buffer[..read]).expect("text"));
        }
        assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), times);
    }
    stream.shutdown(Shutdown::Write).expect("open");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("closed");
    assert!(rest.is_empty());
}

#[test]
fn requests_from_foreign_origins_are_refused() {
    let home = home("");
    home.token("main");
    let (_program, client) = home.serve(&[]);
    let strangers = [
        "https://evil.example",
        "http://localhost.evil.example",
        "http://evil.example:8080",
        "http://127.0.0.1.evil.example",
        "http://10.0.0.1",
        "null",
        "",
    ];
    for origin in strangers {
        for path in ["/mcp/v1", "/health", "/nowhere", "/.well-known/x"] {
            let headers = format!("origin: {origin}\r\n");
            let answer = client.send("POST", path, &headers, PING);
            assert_eq!(answer.status, 403, "{origin} {path}: {answer:?}");
            assert!(answer.json()["error"].is_string(), "{answer:?}");
            check(&answer, 403, &answer.body);
        }
    }
    let friends = [
        "http://localhost",
        "https://localhost:3000",
        "http://127.0.0.1:8080",
        "http://[::1]:1",
        "vscode-file://localhost",
    ];
    for origin in friends {
        let headers = format!("origin: {origin}\r\n");
        let answer = client.send("GET", "/health", &headers, "");
        assert_eq!(answer.status, 200, "{origin}: {answer:?}");
    }
    // A configured list replaces these origins.
    let (_home, _program, client) = open("http: {allowed_origins: [\"https://app.example\"]}\n");
    for (origin, status) in [
        ("https://app.example", 200),
        ("http://app.example", 403),
        ("https://app.example:8443", 403),
        ("http://localhost", 403),
    ] {
        let headers = format!("origin: {origin}\r\n");
        let answer = client.send("POST", "/mcp/v1", &headers, PING);
        assert_eq!(answer.status, status, "{origin}: {answer:?}");
    }
    assert_eq!(client.post("/mcp/v1", PING).status, 200);
}

#[test]
fn on_loopback_only_loopback_host_names_are_accepted() {
    let (_home, _program, client) = open("");
    let ask = |client: &Client, host: &str| {
        let length = PING.len();
        let request = format!(
            "POST /mcp/v1 HTTP/1.1\r\n{host}connection: close\r\n\
             content-length: {length}\r\n\r\n{PING}"
        );
        client.exchange(request.as_bytes())
    };
    for host in [
        "localhost",
        "LOCALHOST:80",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:9",
    ] {
        check(&ask(&client, &format!("host: {host}\r\n")), 200, PONG);
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "evil.example:80",
        "10.0.0.1",
        "0.0.0.0",
    ] {
        let answer = ask(&client, &format!("host: {host}\r\n"));
        assert!(answer.json()["error"].is_string(), "{answer:?}");
        check(&answer, 403, &answer.body);
    }
    let (_home, _program, client) = open("http: {allowed_hosts: [mcp.example]}\n");
    for (host, status) in [
        ("mcp.example:99", 200),
        ("localhost", 200),
        ("evil.example", 403),
    ] {
        let answer = ask(&client, &format!("host: {host}\r\n"));
        assert_eq!(answer.status, status, "{host}: {answer:?}");
    }
}
