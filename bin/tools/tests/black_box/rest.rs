//! Tests of the HTTP API under `/api/`.

use serde_json::{Value, json};

use crate::support::{Answer, Client, Home};

const SELECT: &str = "/api/databases/select";
const COMPACT: &str = "/api/chat/compact";

/// Creates a folder with two unreachable databases, because these tests connect to none.
fn home() -> Home {
    let home = Home::new();
    home.configure(
        "databases:\n\
         - {name: one, host: 127.0.0.1, port: 1, user: nobody, password: swordfish}\n\
         - {name: two, host: 127.0.0.1, port: 1, user: nobody, database: shop, \
            sslmode: disable, allow_writes: true}\n",
    );
    home
}

fn check(answer: &Answer, status: u16, body: &Value) {
    assert_eq!(
        (answer.status, &answer.json()),
        (status, body),
        "{answer:?}"
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}

fn chosen(name: &str) -> Value {
    json!({"success": true, "current": name, "message": "Database selected successfully"})
}

fn refused(error: &str) -> Value {
    json!({"success": false, "error": error})
}

fn current(client: &Client) -> String {
    let list = client.get("/api/databases").json();
    list["current"].as_str().expect("a name").to_owned()
}

#[test]
fn the_databases_are_listed_without_their_passwords() {
    let home = home();
    let (_program, client) = home.serve(&["-no-auth"]);
    let answer = client.get("/api/databases");
    let one = json!({"name": "one", "host": "127.0.0.1", "port": 1, "database": "postgres",
        "user": "nobody", "sslmode": "prefer", "allow_writes": false});
    let two = json!({"name": "two", "host": "127.0.0.1", "port": 1, "database": "shop",
        "user": "nobody", "sslmode": "disable", "allow_writes": true});
    let expected = json!({"databases": [one, two], "current": "one"});
    check(&answer, 200, &expected);
    assert!(!answer.body.contains("swordfish"));
}

#[test]
fn without_authentication_all_clients_share_a_selection() {
    let home = home();
    let (_program, client) = home.serve(&["-no-auth"]);
    assert_eq!(current(&client), "one");
    check(
        &client.post(SELECT, r#"{"name":"two"}"#),
        200,
        &chosen("two"),
    );
    assert_eq!(current(&client.bearing("whatever")), "two");
    let missing = refused("Database name is required");
    for body in ["{}", r#"{"name":""}"#] {
        check(&client.post(SELECT, body), 400, &missing);
    }
    let invalid = refused("Invalid request body");
    for body in ["", "[]", "nonsense", r#"{"name":1}"#] {
        check(&client.post(SELECT, body), 400, &invalid);
    }
    let unknown = refused("Database not found");
    check(&client.post(SELECT, r#"{"name":"three"}"#), 404, &unknown);
    assert_eq!(current(&client), "two");
    let info = client.get("/api/user/info");
    check(&info, 200, &json!({"username": ""}));
}

#[test]
fn a_token_is_bound_to_its_database_and_a_selection_to_its_session() {
    let home = home();
    let token = home.token("two");
    home.user("alice", "correct horse");
    let (_program, stranger) = home.serve(&[]);
    let missing = "Missing Authorization header";
    for (method, path, expected) in [
        ("GET", "/api/databases", refused(missing)),
        ("POST", SELECT, refused(missing)),
        ("GET", "/api/user/info", json!({"error": missing})),
    ] {
        let answer = stranger.send(method, path, "", "");
        check(&answer, 401, &expected);
    }
    let program = stranger.bearing(&token);
    let list = program.get("/api/databases").json();
    assert_eq!(list["databases"].as_array().expect("a list").len(), 1);
    assert_eq!(list["current"], "two");
    let bound = refused("API token is bound to a different database");
    check(&program.post(SELECT, r#"{"name":"one"}"#), 403, &bound);
    check(
        &program.post(SELECT, r#"{"name":"two"}"#),
        200,
        &chosen("two"),
    );
    check(
        &program.get("/api/user/info"),
        200,
        &json!({"username": ""}),
    );

    let alice = stranger.logged_in("alice", "correct horse");
    check(
        &alice.get("/api/user/info"),
        200,
        &json!({"username": "alice"}),
    );
    check(
        &alice.post(SELECT, r#"{"name":"two"}"#),
        200,
        &chosen("two"),
    );
    assert_eq!(current(&alice), "two");
    let again = stranger.logged_in("alice", "correct horse");
    assert_eq!(current(&again), "one", "another session");
}

#[test]
fn a_database_that_a_user_may_not_use_is_refused() {
    let home = Home::new();
    home.configure(
        "databases:\n\
         - {name: open, host: 127.0.0.1, port: 1, user: nobody}\n\
         - {name: bobs, host: 127.0.0.1, port: 1, user: nobody, available_to_users: [bob]}\n",
    );
    home.token("open");
    home.user("alice", "correct horse");
    let (_program, stranger) = home.serve(&[]);
    let alice = stranger.logged_in("alice", "correct horse");
    let denied = refused("Access denied to this database");
    check(&alice.post(SELECT, r#"{"name":"bobs"}"#), 403, &denied);
    let list = alice.get("/api/databases").json();
    assert_eq!(list["databases"].as_array().expect("a list").len(), 1);
}

#[test]
fn unknown_methods_and_paths_are_refused() {
    let home = home();
    let (_program, client) = home.serve(&["-no-auth"]);
    for (method, path, allow, body) in [
        (
            "POST",
            "/api/databases",
            "GET,HEAD",
            refused("Method not allowed"),
        ),
        ("GET", SELECT, "POST", refused("Method not allowed")),
        (
            "DELETE",
            "/api/user/info",
            "GET,HEAD",
            json!({"error": "Method not allowed"}),
        ),
    ] {
        let answer = client.send(method, path, "", "");
        check(&answer, 405, &body);
        assert_eq!(answer.header("allow"), Some(allow));
    }
    let nothing = json!({"error": "Not found"});
    for path in [
        "/api",
        "/api/",
        "/api/nothing",
        "/api/databases/",
        "/api/user",
    ] {
        check(&client.get(path), 404, &nothing);
    }
    let head = "POST /api/databases/select HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
    let announced = format!("{head}content-length: {}\r\n\r\n", (10 << 20) + 1);
    let large = json!({"error": "Request body too large"});
    check(&client.exchange(announced.as_bytes()), 413, &large);
    let broken = format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n");
    let unreadable = refused("Failed to read request body");
    check(&client.exchange(broken.as_bytes()), 400, &unreadable);
}

#[test]
fn a_chat_is_compacted() {
    let home = home();
    let token = home.token("one");
    let (program, stranger) = home.serve(&[]);
    check(
        &stranger.post(COMPACT, "{}"),
        401,
        &json!({"error": "Missing Authorization header"}),
    );
    let client = stranger.bearing(&token);
    let empty = json!({"error": "Messages array cannot be empty"});
    check(&client.post(COMPACT, "{}"), 400, &empty);
    let answer = client.post(COMPACT, "nonsense").json();
    let error = answer["error"].as_str().expect("a text");
    assert!(error.starts_with("Invalid request body: "), "{error}");

    let message = |at: u32| json!({"role": "user", "content": format!("{at} is a number, is it not?"), "n": at});
    let messages: Vec<_> = (0..500).map(message).collect();
    let asked =
        |options: Value| json!({"messages": messages, "max_tokens": 500, "options": options});
    for options in [
        json!(null),
        json!({"enable_summarization": true, "enable_caching": true, "enable_analytics": true}),
        json!({"enable_summarization": true, "enable_caching": true, "enable_analytics": true}),
    ] {
        let answer = client.post(COMPACT, &asked(options).to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        assert_eq!(answer["messages"][0], messages[0]);
        let info = &answer["compaction_info"];
        assert_eq!(info["original_count"], 500);
        let kept = answer["messages"].as_array().expect("a list");
        assert_eq!(info["compacted_count"], kept.len());
        assert_eq!(kept[kept.len() - 10..], messages[490..]);
        let description = answer["summary"]["description"].as_str().expect("a text");
        assert_eq!(
            kept[1],
            json!({"role": "assistant", "content": description})
        );
        assert!(answer["token_estimate"].as_u64() <= Some(500), "{info}");
    }
    let counted = program.wait_for("from_cache=1");
    assert!(counted.contains("chats=2"), "{counted}");
}

#[test]
fn the_server_describes_its_api() {
    let home = home();
    home.token("one");
    let printed = home.ran(&["-openapi"], "");
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let (_program, stranger) = home.serve(&[]);
    for path in ["/api/openapi.json", "/openapi.json"] {
        let answer = stranger.get(path);
        assert_eq!((answer.status, &answer.body), (200, &printed.stdout));
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let known = format!(
            "if-none-match: {}\r\n",
            answer.header("etag").expect("a tag")
        );
        let again = stranger.send("GET", path, &known, "");
        assert_eq!((again.status, &*again.body), (304, ""));
        let answer = stranger.post(path, "");
        check(&answer, 405, &json!({"error": "Method not allowed"}));
    }
    let document: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    assert_eq!(document["openapi"], "3.0.3");
    let page = stranger.get("/docs");
    assert_eq!(page.status, 200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(page.header("content-security-policy").is_some());
    // A refused client learns where the description is.
    let answer = stranger.get("/api/databases");
    assert_eq!(answer.status, 401);
    let link = r#"</api/openapi.json>; rel="service-desc""#;
    assert_eq!(answer.header("link"), Some(link));
    assert_eq!(page.header("link"), None);
}

#[test]
fn every_described_path_exists() {
    let home = Home::new();
    // The issuer, the database and the model are never contacted.
    home.configure(
        "http: {auth: {issuer: {url: \"http://127.0.0.1:1\", public_url: \"https://a.example\"}}}\n\
         databases: [{name: one, host: 127.0.0.1, port: 1, user: nobody}]\n\
         llm: {enabled: true, provider: ollama, model: none, ollama_url: \"http://127.0.0.1:1\"}\n",
    );
    let token = home.token("one");
    let (_program, stranger) = home.serve(&[]);
    let client = stranger.bearing(&token);
    let document = client.get("/api/openapi.json").json();
    // An issuer and the own sign-in exclude each other.
    let own = Home::new();
    own.configure(
        "http: {auth: {oauth: {enabled: true, device_clients: [tv]}}}\n\
         databases: [{name: one, host: 127.0.0.1, port: 1, user: nobody}]\n",
    );
    let (_own_program, sign_in) = own.serve(&[]);
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let is_own =
            methods["get"]["tags"][0] == "Sign-in" || methods["post"]["tags"][0] == "Sign-in";
        let client = if is_own { &sign_in } else { &client };
        let answer = client.send("BREW", path, "", "");
        assert_eq!(answer.status, 405, "{path}: {answer:?}");
        let allowed = answer.header("allow").expect("a list").to_ascii_lowercase();
        let allowed: Vec<_> = allowed.split(',').map(str::trim).collect();
        for method in methods.as_object().expect("methods").keys() {
            assert!(allowed.contains(&&**method), "{method} {path}: {allowed:?}");
        }
    }
}
