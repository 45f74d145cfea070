//! Tests of logins and sessions.

use std::{fs, net::Ipv4Addr};

use serde_json::{Value, json};

use crate::support::{Answer, Client, Home, Postgres, records, records::PASSWORD};

const INVALID: &str = "authentication failed: invalid username or password";
const DISABLED: &str = "authentication failed: user account is disabled";
const LIMITED: &str =
    "too many failed authentication attempts from this IP address, please try again later";

/// Creates a folder with these users and this configuration of authentication.
fn home(auth: &str, users: &[String]) -> Home {
    let home = Home::new();
    home.configure(&format!(
        "http: {{auth: {{{auth}}}}}\ndatabases: [{{name: main, user: reader}}]\n"
    ));
    home.replace(&home.tokens(), &records::tokens(&[]));
    home.replace(&home.users(), &records::users(users));
    home
}

fn alice() -> String {
    records::user("alice", &[])
}

fn call(arguments: &Value) -> String {
    let params = json!({"name": "authenticate_user", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": "in", "method": "tools/call", "params": params});
    call.to_string()
}

fn assert_failed(answer: &Answer, data: &str) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert_eq!(answer["error"]["message"], "Tool execution error");
    assert_eq!(answer["error"]["data"], data);
    assert_eq!(answer["result"], Value::Null);
}

fn assert_limited(answer: &Answer) {
    assert_eq!(answer.status, 429, "{answer:?}");
    let wait = answer
        .header("retry-after")
        .and_then(|text| text.parse::<u64>().ok());
    assert!(
        wait.is_some_and(|wait| (1..=900).contains(&wait)),
        "{answer:?}"
    );
    let body = answer.json();
    assert_eq!(body["jsonrpc"], "2.0");
    assert_eq!(body["id"], 1);
    let error = json!({"code": -32603, "message": "Tool execution error", "data": LIMITED});
    assert_eq!(body["error"], error);
}

fn ping(client: &Client) -> u16 {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    client.post("/mcp/v1", body).status
}

#[test]
fn a_login_gives_a_session_for_a_day() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    home.replace(&home.tokens(), &records::tokens(&[]));
    home.replace(&home.users(), &records::users(&[alice()]));
    let (_program, client) = home.serve(&[]);
    let before = jiff::Timestamp::now();
    let arguments = json!({"username": "alice", "password": PASSWORD});
    let answer = client.post("/mcp/v1", &call(&arguments));
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(body["id"], "in");
    assert_eq!(body["result"]["isError"], Value::Null);
    assert_eq!(body["result"]["content"][0]["type"], "text");
    let text = body["result"]["content"][0]["text"].as_str().expect("text");
    let session: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(session.as_object().expect("a map").len(), 4);
    assert_eq!(session["success"], true);
    assert_eq!(session["message"], "Authentication successful");
    let token = session["session_token"].as_str().expect("a token");
    assert_eq!(token.len(), 44);
    assert!(
        token.ends_with('=') && !token.contains(['+', '/']),
        "{token}"
    );
    let ends = session["expires_at"].as_str().expect("a moment");
    assert!(
        ends.ends_with('Z') && !ends.contains('.'),
        "whole seconds: {ends}"
    );
    let ends: jiff::Timestamp = ends.parse().expect("RFC 3339");
    let hours = ends.duration_since(before).as_secs_f64() / 3600.0;
    assert!((23.99..=24.01).contains(&hours), "{hours}");

    let text = client.bearing(token).query("SELECT 1 AS one");
    assert!(text.ends_with("one\n1"), "{text}");
}

#[test]
fn a_wrong_password_and_an_unknown_user_get_the_same_error() {
    let home = home("", &[alice()]);
    let (_program, client) = home.serve(&[]);
    assert_failed(&client.login("alice", "wrong"), INVALID);
    assert_failed(&client.login("nobody", PASSWORD), INVALID);
    assert_failed(&client.login("Alice", PASSWORD), INVALID);
    assert_failed(&client.login("alice", &PASSWORD.to_uppercase()), INVALID);
    client.logged_in("alice", PASSWORD);
}

#[test]
fn missing_parameters_are_named_in_order() {
    let home = home("rate_limit_max_attempts: 1", &[alice()]);
    let (_program, client) = home.serve(&[]);
    for (arguments, data) in [
        (json!({}), "username is required"),
        (json!({"password": "x"}), "username is required"),
        (
            json!({"username": "", "password": "x"}),
            "username must be a non-empty string",
        ),
        (
            json!({"username": 7, "password": "x"}),
            "username must be a non-empty string",
        ),
        (json!({"username": "alice"}), "password is required"),
        (
            json!({"username": "alice", "password": ""}),
            "password must be a non-empty string",
        ),
        (
            json!({"username": "alice", "password": ["x"]}),
            "password must be a non-empty string",
        ),
    ] {
        assert_failed(&client.post("/mcp/v1", &call(&arguments)), data);
    }
    // None of these requests counts as an attempt.
    client.logged_in("alice", PASSWORD);
}

#[test]
fn a_disabled_user_is_told_so_only_after_the_right_password() {
    let disabled = records::user("alice", &["enabled: false"]);
    let home = home("", &[disabled]);
    let (_program, client) = home.serve(&[]);
    assert_failed(&client.login("alice", PASSWORD), DISABLED);
    assert_failed(&client.login("alice", "wrong"), INVALID);
}

#[test]
fn one_user_may_have_several_sessions() {
    let home = home("", &[alice()]);
    let (_program, client) = home.serve(&[]);
    let first = client.logged_in("alice", PASSWORD);
    let second = client.logged_in("alice", PASSWORD);
    assert_eq!((ping(&first), ping(&second)), (200, 200));
}

#[test]
fn sessions_end_with_the_server() {
    let home = home("", &[alice()]);
    let (program, client) = home.serve(&[]);
    let token = {
        let body = client.login("alice", PASSWORD).json();
        let text = body["result"]["content"][0]["text"].as_str().expect("text");
        let session: Value = serde_json::from_str(text).expect("JSON");
        session["session_token"]
            .as_str()
            .expect("a token")
            .to_owned()
    };
    assert_eq!(ping(&client.bearing(&token)), 200);
    drop(program);
    let (_program, client) = home.serve(&[]);
    assert_eq!(ping(&client.bearing(&token)), 401);
    for file in [home.tokens(), home.users()] {
        let text = fs::read_to_string(file).expect("read");
        assert!(!text.contains(&token), "{text}");
    }
}

#[test]
fn the_time_of_a_login_is_saved() {
    let home = home("", &[alice(), records::user("bob", &[])]);
    let (_program, client) = home.serve(&[]);
    client.logged_in("alice", PASSWORD);
    let list = home.ran(&["-list-users"], "").stdout;
    let line = |name: &str| {
        let found = list.lines().find(|line| line.starts_with(name));
        found
            .unwrap_or_else(|| panic!("{name} in {list}"))
            .to_owned()
    };
    assert!(!line("alice").contains("Never"), "{list}");
    assert!(line("bob").contains("Never"), "{list}");
}

#[test]
fn an_account_is_locked_after_failures_until_an_administrator_enables_it() {
    let auth = "max_failed_attempts_before_lockout: 3, rate_limit_max_attempts: 100";
    let home = home(auth, &[alice(), records::user("bob", &[])]);
    let (program, client) = home.serve(&[]);
    assert_failed(&client.login("alice", "wrong"), INVALID);
    let text = fs::read_to_string(home.users()).expect("read");
    assert!(text.contains("failed_attempts: 1"), "at once: {text}");
    assert_failed(&client.login("alice", "wrong"), INVALID);
    assert_failed(&client.login("alice", "wrong"), INVALID);
    assert_failed(&client.login("alice", PASSWORD), DISABLED);
    for _ in 0..5 {
        assert_failed(&client.login("nobody", "wrong"), INVALID);
    }
    client.logged_in("bob", PASSWORD);
    let text = fs::read_to_string(home.users()).expect("read");
    assert!(text.contains("enabled: false"), "{text}");
    assert!(text.contains("failed_attempts: 3"), "{text}");
    assert!(!text.contains("nobody"), "{text}");

    drop(program);
    let (program, client) = home.serve(&[]);
    assert_failed(&client.login("alice", PASSWORD), DISABLED);

    program.until_it_says("[AUTH] Reloaded ", || {
        let ran = home.ran(&["-enable-user", "-username", "alice"], "");
        assert_eq!(ran.code, Some(0), "{ran:?}");
    });
    let text = fs::read_to_string(home.users()).expect("read");
    assert!(!text.contains("failed_attempts: 3"), "{text}");
    client.logged_in("alice", PASSWORD);
    // One failure does not lock it again.
    assert_failed(&client.login("alice", "wrong"), INVALID);
    client.logged_in("alice", PASSWORD);
}

#[test]
fn only_failures_in_a_row_lock_an_account() {
    let auth = "max_failed_attempts_before_lockout: 2, rate_limit_max_attempts: 100";
    let home = home(auth, &[alice()]);
    let (_program, client) = home.serve(&[]);
    for _ in 0..3 {
        assert_failed(&client.login("alice", "wrong"), INVALID);
        client.logged_in("alice", PASSWORD);
    }
    let text = fs::read_to_string(home.users()).expect("read");
    assert!(text.contains("failed_attempts: 0"), "{text}");
}

#[test]
fn accounts_do_not_lock_unless_that_is_configured() {
    let home = home("rate_limit_max_attempts: 100", &[alice()]);
    let (_program, client) = home.serve(&[]);
    for _ in 0..15 {
        assert_failed(&client.login("alice", "wrong"), INVALID);
    }
    client.logged_in("alice", PASSWORD);
}

#[test]
fn an_address_that_failed_too_often_is_blocked_whatever_its_headers() {
    let home = home("rate_limit_max_attempts: 3", &[alice()]);
    let (_program, client) = home.serve(&[]);
    let session = client.logged_in("alice", PASSWORD);
    assert_failed(&client.login("nobody", "wrong"), INVALID);
    assert_failed(&client.login("alice", "wrong"), INVALID);
    assert_failed(&client.login("nobody", "wrong"), INVALID);
    assert_limited(&client.login("nobody", "wrong"));
    assert_limited(&client.login("alice", PASSWORD));
    // These headers do not come from a trusted proxy.
    let arguments = json!({"username": "alice", "password": PASSWORD});
    let body = call(&arguments).replace("\"in\"", "1");
    for header in ["x-forwarded-for", "x-real-ip", "forwarded"] {
        let value = if header == "forwarded" { "for=" } else { "" };
        let line = format!("{header}: {value}203.0.113.7\r\n");
        assert_limited(&client.send("POST", "/mcp/v1", &line, &body));
    }
    assert_eq!(ping(&session), 200, "a session is no attempt");
    assert_eq!(client.get("/health").status, 200);
}

#[test]
fn ten_failures_are_too_many_unless_configured_otherwise() {
    let home = home("", &[alice()]);
    let (_program, client) = home.serve(&[]);
    for _ in 0..10 {
        assert_failed(&client.login("alice", "wrong"), INVALID);
    }
    assert_limited(&client.login("alice", PASSWORD));
}

#[cfg(target_os = "linux")]
#[test]
fn another_address_has_its_own_attempts() {
    let home = home("rate_limit_max_attempts: 1", &[alice()]);
    let (_program, client) = home.serve(&[]);
    assert_failed(&client.login("alice", "wrong"), INVALID);
    assert_limited(&client.login("alice", PASSWORD));
    let other = client.calling_from(Ipv4Addr::new(127, 0, 0, 2));
    other.logged_in("alice", PASSWORD);
    assert_limited(&client.login("alice", PASSWORD));
}

#[test]
fn clients_behind_a_trusted_proxy_are_counted_separately() {
    let home = home("rate_limit_max_attempts: 1", &[alice()]);
    home.configure(
        "http:\n  auth: {rate_limit_max_attempts: 1}\n  client_ip: {source: header, header: \
         X-Forwarded-For, trusted_proxies: [127.0.0.1/32]}\ndatabases: [{name: main, user: a}]\n",
    );
    let (_program, client) = home.serve(&[]);
    let login = |list: &str, password: &str| {
        let body = call(&json!({"username": "alice", "password": password}));
        let line = format!("x-forwarded-for: {list}\r\n");
        client.send("POST", "/mcp/v1", &line, &body.replace("\"in\"", "1"))
    };
    assert_failed(&login("203.0.113.7", "wrong"), INVALID);
    assert_limited(&login("203.0.113.7", PASSWORD));
    assert_limited(&login("198.51.100.1, 203.0.113.7", PASSWORD));
    assert_eq!(login("203.0.113.8", PASSWORD).status, 200);
}

#[test]
fn a_success_clears_the_failures_of_its_address() {
    let home = home("rate_limit_max_attempts: 3", &[alice()]);
    let (_program, client) = home.serve(&[]);
    for _ in 0..3 {
        for _ in 0..2 {
            assert_failed(&client.login("alice", "wrong"), INVALID);
        }
        client.logged_in("alice", PASSWORD);
    }
}

#[test]
fn each_user_uses_the_databases_available_to_that_user() {
    let (one, two) = (Postgres::new(), Postgres::new());
    let home = Home::new();
    let only_bob = "    available_to_users: [bob]\n";
    home.configure(&format!(
        "databases:\n{}{only_bob}{}",
        one.entry("one"),
        two.entry("two")
    ));
    let tokens = [
        records::token(1, "unbound", &[]),
        records::token(2, "bound", &["database: two"]),
        records::token(3, "astray", &["database: three"]),
    ];
    home.replace(&home.tokens(), &records::tokens(&tokens));
    let users = [
        records::user("alice", &[]),
        records::user("bob", &[]),
        records::user("carol", &["available_databases: [two]"]),
        records::user("dave", &["available_databases: [one]"]),
    ];
    home.replace(&home.users(), &records::users(&users));
    let (_program, client) = home.serve(&[]);
    let used = |client: &Client| {
        let arguments = json!({"query": "SELECT current_database()"});
        client.tool("query_database", &arguments)
    };
    for (who, client, label) in [
        ("unbound", client.bearing("unbound"), "one"),
        ("bound", client.bearing("bound"), "two"),
        ("alice", client.logged_in("alice", PASSWORD), "two"),
        ("bob", client.logged_in("bob", PASSWORD), "one"),
        ("carol", client.logged_in("carol", PASSWORD), "two"),
    ] {
        let (text, is_error) = used(&client);
        assert!(!is_error, "{who}: {text}");
        let expected = format!("Database: {label}\n\n");
        assert!(text.starts_with(&expected), "{who}: {text}");
        let name = if label == "one" {
            one.name()
        } else {
            two.name()
        };
        assert!(text.ends_with(name), "{who}: {text}");
    }
    let (text, is_error) = used(&client.logged_in("dave", PASSWORD));
    assert!(is_error, "{text}");
    let expected = "Failed to get database client: no databases are configured for user 'dave' - \
                    contact your administrator\n";
    assert!(text.starts_with(expected), "{text}");
    let (text, is_error) = used(&client.bearing("astray"));
    assert!(is_error, "{text}");
    let expected = "Failed to get database client: no database connection configured for this \
                    token: ";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn every_token_has_its_own_connections() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let tokens = [records::token(1, "one", &[]), records::token(2, "two", &[])];
    home.replace(&home.tokens(), &records::tokens(&tokens));
    home.replace(&home.users(), &records::users(&[alice()]));
    let (_program, client) = home.serve(&[]);
    let process = |client: &Client| {
        let text = client.query("SELECT pg_backend_pid()");
        text.lines().last().unwrap_or_default().to_owned()
    };
    let clients = [
        client.bearing("one"),
        client.bearing("two"),
        client.logged_in("alice", PASSWORD),
        client.logged_in("alice", PASSWORD),
    ];
    let mut seen: Vec<_> = clients.iter().map(process).collect();
    let again: Vec<_> = clients.iter().map(process).collect();
    assert_eq!(seen, again, "each keeps its own");
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 4);
}
