//! Tests of the order in which the errors of a request are reported.

use crate::support::{Answer, Client, Home, Program};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Body size above the limit of these servers.
const TOO_MUCH: usize = 2001;

/// Errors of a request, in the order in which they must be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Host,
    Origin,
    Token,
    Method,
    Type,
    /// The declared length is above the limit; no body is sent.
    Announced,
    /// The chunked body is above the limit.
    Chunked,
    Json,
}

use Wrong::{Announced, Chunked, Host, Json, Method, Origin, Token, Type};

impl Wrong {
    const ALL: [Self; 8] = [Host, Origin, Token, Method, Type, Announced, Chunked, Json];

    fn status(self) -> u16 {
        match self {
            Host | Origin => 403,
            Token => 401,
            Method => 405,
            Type => 415,
            Announced | Chunked => 413,
            Json => 400,
        }
    }
}

struct Server {
    client: Client,
    token: String,
    _program: Program,
    _home: Home,
}

impl Server {
    /// Starts a server with a small body limit and authentication.
    fn start() -> Self {
        let home = Home::new();
        home.configure(
            "databases: [{name: main, host: 127.0.0.1, port: 1, user: nobody}]\n\
             limits: {max_body_bytes: 2000}\n",
        );
        let token = home.token("main");
        let (program, client) = home.serve(&[]);
        Self {
            client,
            token,
            _program: program,
            _home: home,
        }
    }

    /// Sends a request with these errors and no others.
    fn send(&self, path: &str, wrong: &[Wrong]) -> Answer {
        let is = |what| wrong.contains(&what);
        let method = if is(Method) { "PUT" } else { "POST" };
        let host = if is(Host) {
            "evil.example"
        } else {
            "localhost"
        };
        let origin = if is(Origin) {
            "origin: https://evil.example\r\n"
        } else {
            ""
        };
        let authorization = if is(Token) {
            String::new()
        } else {
            format!("authorization: Bearer {}\r\n", self.token)
        };
        let kind = if is(Type) {
            "text/plain"
        } else {
            "application/json; charset=utf-8"
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{origin}\
             {authorization}content-type: {kind}\r\n"
        );
        let body = if is(Json) { "{" } else { PING };
        let request = if is(Announced) {
            // The server sends `100 Continue` only if it reads the body.
            format!("{head}expect: 100-continue\r\ncontent-length: {TOO_MUCH}\r\n\r\n")
        } else if is(Chunked) {
            let filling = " ".repeat(TOO_MUCH - body.len());
            format!(
                "{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n{:x}\r\n{filling}\r\n\
                 0\r\n\r\n",
                body.len(),
                filling.len(),
            )
        } else {
            format!("{head}content-length: {}\r\n\r\n{body}", body.len())
        };
        self.client.exchange(request.as_bytes())
    }

    /// Posts a body to `/mcp`.
    fn post(&self, headers: &str, body: &str) -> Answer {
        let client = self.client.bearing(&self.token);
        let headers = format!("content-type: application/json\r\n{headers}");
        client.send("POST", "/mcp", &headers, body)
    }
}

#[test]
fn of_two_errors_the_earlier_is_reported() {
    let server = Server::start();
    assert_eq!(server.send("/mcp", &[]).status, 200);
    for (at, first) in Wrong::ALL.into_iter().enumerate() {
        let answer = server.send("/mcp", &[first]);
        assert_eq!(answer.status, first.status(), "{first:?}: {answer:?}");
        for then in Wrong::ALL.into_iter().skip(at + 1) {
            let answer = server.send("/mcp", &[first, then]);
            assert_eq!(
                answer.status,
                first.status(),
                "{first:?}, {then:?}: {answer:?}"
            );
        }
    }
}

#[test]
fn all_errors_are_reported_one_after_the_other() {
    let server = Server::start();
    for large in [Announced, Chunked] {
        let mut wrong = vec![Host, Origin, Token, Method, Type, large, Json];
        while let Some(first) = wrong.first() {
            let answer = server.send("/mcp", &wrong);
            assert_eq!(answer.status, first.status(), "{wrong:?}: {answer:?}");
            match first {
                Token => assert_eq!(answer.header("www-authenticate"), Some("Bearer")),
                Method => assert_eq!(answer.header("allow"), Some("POST")),
                Json => assert_eq!(answer.json()["error"]["code"], -32700),
                _ => assert!(answer.json()["error"].is_string(), "{answer:?}"),
            }
            wrong.remove(0);
        }
    }
}

#[test]
fn errors_of_a_message_are_reported_in_order() {
    let server = Server::start();
    let newer = "mcp-protocol-version: 2025-06-18\r\n";
    // The header of the newest revision, without the members that it requires.
    let modern = "mcp-protocol-version: 2026-07-28\r\n";
    for (headers, body, status, code) in [
        // Not JSON, and not an object where one is required.
        (newer, "[7", 400, -32700),
        (newer, r#"[{"id":null}]"#, 400, -32600),
        // A response, which would be ignored, without the version of JSON-RPC.
        ("", r#"{"id":1,"result":{}}"#, 400, -32600),
        // A response with an id that a request may not have.
        ("", r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, 202, 0),
        // A notification has neither an id nor a revision that could be wrong.
        (modern, r#"{"jsonrpc":"2.0","method":"x"}"#, 202, 0),
        // An invalid id, which is reported before the missing revision.
        (
            modern,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#,
            400,
            -32600,
        ),
        (
            modern,
            r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#,
            400,
            -32602,
        ),
    ] {
        let answer = server.post(headers, body);
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        if status == 202 {
            assert_eq!(answer.body, "", "{body}");
        } else {
            assert_eq!(answer.json()["error"]["code"], code, "{body}: {answer:?}");
        }
    }
}

#[test]
fn on_other_paths_the_token_is_checked_before_the_size_and_the_size_before_the_rest() {
    let server = Server::start();
    for large in [Announced, Chunked] {
        for path in ["/mcp/v1", "/api/databases/select", "/api/chat/compact"] {
            let answer = server.send(path, &[large]);
            assert_eq!(answer.status, 413, "{path}: {answer:?}");
            assert_eq!(answer.body, r#"{"error":"Request body too large"}"#);
            let answer = server.send(path, &[Type, large]);
            assert_eq!(answer.status, 413, "{path}: {answer:?}");
            let answer = server.send(path, &[Origin, large]);
            assert_eq!(answer.status, 403, "{path}: {answer:?}");
        }
        for path in ["/api/databases/select", "/api/chat/compact", "/nowhere"] {
            let answer = server.send(path, &[Token, large]);
            assert_eq!(answer.status, 401, "{path}: {answer:?}");
        }
    }
    // The declared length is also checked for logins and on other paths.
    for path in ["/mcp/v1", "/health"] {
        let answer = server.send(path, &[Token, Announced]);
        assert_eq!(answer.status, 413, "{path}: {answer:?}");
    }
    assert_eq!(server.send("/nowhere", &[Announced]).status, 413);
}
