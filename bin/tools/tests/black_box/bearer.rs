//! Tests of requests without a valid token: which are accepted, and how others are refused.

use serde_json::json;

use crate::support::{Answer, Client, Home, Program, records};

const MISSING: &str = "Missing Authorization header";
const MALFORMED: &str = "Invalid Authorization header format. Expected: Bearer <token>";
const UNKNOWN: &str = "Invalid or unknown token";

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn login() -> serde_json::Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "authenticate_user",
        "arguments": {"username": "alice", "password": records::PASSWORD},
    }})
}

/// Starts a server with one token and one user.
fn server() -> (Home, Program, Client) {
    let home = Home::new();
    home.configure("databases: [{name: main, user: reader}]");
    let token = records::token(1, "good", &[]);
    home.replace(&home.tokens(), &records::tokens(&[token]));
    let alice = records::user("alice", &[]);
    home.replace(&home.users(), &records::users(&[alice]));
    let (program, client) = home.serve(&[]);
    (home, program, client)
}

fn assert_refused(answer: &Answer, text: &str, case: &str) {
    assert_eq!(answer.status, 401, "{case}: {answer:?}");
    assert_eq!(answer.json(), json!({"error": text}), "{case}");
    let challenge = answer.header("www-authenticate").unwrap_or_default();
    // RFC 6750 section 3.1: a challenge to a request without a token has no error code.
    match text {
        MISSING => assert_eq!(challenge, "Bearer", "{case}"),
        _ => assert!(challenge.starts_with("Bearer"), "{case}: {challenge}"),
    }
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[test]
fn a_refusal_has_one_of_three_texts() {
    let (_home, _program, client) = server();
    for (headers, text) in [
        ("", MISSING),
        ("authorization: Basic Z29vZA==\r\n", MALFORMED),
        ("authorization: Bearer\r\n", MALFORMED),
        ("authorization: Bearer good good\r\n", MALFORMED),
        ("authorization: good\r\n", MALFORMED),
        ("authorization: \r\n", MALFORMED),
        ("authorization: Bearer bad\r\n", UNKNOWN),
        ("authorization: Bearer GOOD\r\n", UNKNOWN),
    ] {
        let answer = client.send("POST", "/mcp/v1", headers, PING);
        assert_refused(&answer, text, headers);
    }
}

#[test]
fn the_scheme_may_be_in_any_case_and_the_token_not() {
    let (_home, _program, client) = server();
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let header = format!("authorization: {scheme} good\r\n");
        let answer = client.send("POST", "/mcp/v1", &header, PING);
        assert_eq!(answer.status, 200, "{scheme}");
    }
}

#[test]
fn without_a_token_only_probes_are_answered() {
    let (_home, _program, client) = server();
    let health = client.get("/health");
    assert_eq!(health.status, 200);
    assert_eq!(health.json()["status"], "ok");
    for (method, path) in [
        ("GET", "/mcp/v1"),
        ("GET", "/api/user/info"),
        ("GET", "/api/llm/providers"),
        ("GET", "/no/such/path"),
        ("GET", "/"),
        ("GET", "/health/more"),
        ("POST", "/mcp/v1/"),
    ] {
        let answer = client.send(method, path, "", "");
        assert_refused(&answer, MISSING, path);
    }
    for (method, path) in [
        ("GET", "/api/databases"),
        ("POST", "/api/databases/select"),
        ("GET", "/api/databases/"),
    ] {
        for (client, words) in [(&client, MISSING), (&client.bearing("bad"), UNKNOWN)] {
            let answer = client.send(method, path, "", "");
            let refused = json!({"success": false, "error": words});
            assert_eq!((answer.status, answer.json()), (401, refused), "{path}");
            assert!(answer.header("www-authenticate").is_some(), "{path}");
        }
    }
    let known = client.bearing("good");
    assert_eq!(known.get("/no/such/path").status, 404);
    assert_eq!(known.get("/mcp/v1").status, 405);
}

#[test]
fn only_the_call_of_the_login_tool_needs_no_token() {
    let (_home, _program, client) = server();
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        PING,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_database"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Authenticate_User"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"name":"authenticate_user"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"name":"authenticate_user"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"authenticate_user","name":"query_database"}}"#,
        "not json, but authenticate_user",
        "",
    ] {
        assert_refused(&client.post("/mcp/v1", body), MISSING, body);
    }
    let batch = format!("[{},{PING}]", login());
    assert_refused(&client.post("/mcp/v1", &batch), MISSING, &batch);
    let mut notification = login();
    notification.as_object_mut().expect("a map").remove("id");
    let answer = client.post("/mcp/v1", &notification.to_string());
    assert_refused(&answer, MISSING, "a notification");
    // A valid login succeeds.
    let answer = client.post("/mcp/v1", &login().to_string());
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("session_token"), "{answer:?}");
}

#[test]
fn a_login_on_another_path_or_in_another_form_is_refused() {
    let (_home, _program, client) = server();
    let body = login().to_string();
    for path in [
        "/",
        "/mcp",
        "/mcp/v1/",
        "/mcp/v1/x",
        "/MCP/v1",
        "//mcp/v1",
        "/api/chat/compact",
        "/api/user/info",
        "/api/llm/chat",
    ] {
        assert_refused(&client.post(path, &body), MISSING, path);
    }
    for method in ["PUT", "GET", "PATCH", "DELETE"] {
        let answer = client.send(method, "/mcp/v1", "", &body);
        assert_refused(&answer, MISSING, method);
    }
}

#[test]
fn a_login_with_an_invalid_token_is_refused_for_the_token() {
    let (_home, _program, client) = server();
    let answer = client.bearing("bad").post("/mcp/v1", &login().to_string());
    assert_refused(&answer, UNKNOWN, "login");
    let answer = client.bearing("good").post("/mcp/v1", &login().to_string());
    assert!(answer.body.contains("session_token"), "{answer:?}");
}

#[test]
fn guessing_tokens_does_not_count_as_failed_logins() {
    let (_home, _program, client) = server();
    for _ in 0..30 {
        let answer = client.bearing("bad").post("/mcp/v1", PING);
        assert_refused(&answer, UNKNOWN, "guess");
    }
    client.logged_in("alice", records::PASSWORD);
}

#[test]
fn without_authentication_tokens_are_ignored() {
    let home = Home::new();
    let (_program, client) = home.serve(&["-no-auth"]);
    for client in [client.clone(), client.bearing("anything")] {
        assert_eq!(client.post("/mcp/v1", PING).status, 200);
    }
    let answer = client.login("alice", "anything").json();
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(
        answer["error"]["data"],
        "user authentication is not configured"
    );
}

#[test]
fn every_refusal_names_the_issuer_of_tokens_if_one_is_configured() {
    let home = Home::new();
    home.configure(
        "http: {auth: {issuer: {url: \"http://127.0.0.1:1\", \
         public_url: \"https://tools.example\", scopes: [mcp, read]}}}\n\
         databases: [{name: main, user: reader}]",
    );
    let (_program, client) = home.serve(&[]);
    let document = "https://tools.example/.well-known/oauth-protected-resource";
    let missing = json!({"error": MISSING}).to_string();
    for (method, path, body) in [
        ("POST", "/mcp", PING),
        ("POST", "/mcp/", PING),
        ("POST", "/mcp/x/sales", PING),
        ("POST", "/mcp/v1", PING),
        ("POST", "/mcp/v1", "no JSON"),
        ("GET", "/mcp/v1", ""),
        ("GET", "/nowhere", ""),
    ] {
        // Clients compare the address in the document with the one that they were given.
        let called = if path == "/nowhere" { "/mcp" } else { path };
        let place = format!("scope=\"mcp read\", resource_metadata=\"{document}{called}\"");
        let answer = client.send(method, path, "content-type: application/json\r\n", body);
        let challenge = answer.header("www-authenticate");
        let expected = format!("Bearer {place}");
        assert_eq!(challenge, Some(&*expected), "{method} {path}");
        assert_eq!((answer.status, &*answer.body), (401, &*missing), "{path}");
        let answer = client.bearing("bad").send(method, path, "", body);
        let challenge = answer.header("www-authenticate");
        let expected = format!("Bearer error=\"invalid_token\", {place}");
        assert_eq!(challenge, Some(&*expected), "{method} {path}");
    }
}
