//! Tests of the administration of API tokens over HTTP.

use serde_json::{Value, json};

use super::{INFO, Server, TOKEN, check, serve};
use crate::support::{Client, records::PASSWORD, until};

const PATH: &str = "/api/admin/tokens";

fn listed(client: &Client) -> Vec<Value> {
    let answer = client.get(PATH);
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    answer["tokens"].as_array().expect("a list").clone()
}

#[test]
fn an_administrator_makes_and_removes_tokens() {
    let server = serve("audit: {file: audit.jsonl}\n", &[]);
    let ada = server.client.logged_in("ada", PASSWORD);
    let before = listed(&ada);
    assert_eq!(before.len(), 1);
    for (name, value) in [
        ("id", json!("token-1")),
        ("note", json!("by hand")),
        ("database", json!("main")),
        ("toolsets", json!(null)),
        ("expires_at", json!(null)),
        ("expired", json!(false)),
        ("last_used_at", json!(null)),
    ] {
        assert_eq!(before[0][name], value, "{name}");
    }
    assert_eq!(server.client.bearing(TOKEN).get(INFO).status, 200);
    assert!(listed(&ada)[0]["last_used_at"].is_string());

    let answer = ada.post(
        PATH,
        r#"{"note": "reports", "database": "main", "expiry": "2w"}"#,
    );
    assert_eq!(answer.status, 201, "{answer:?}");
    let made = answer.json();
    let token = made["token"].as_str().expect("a token");
    let record = &made["record"];
    assert_eq!(record["note"], "reports");
    let time = |name: &str| record[name].as_str().and_then(|text| text.parse().ok());
    let (created, ends): (Option<jiff::Timestamp>, Option<jiff::Timestamp>) =
        (time("created_at"), time("expires_at"));
    let lives = ends
        .expect("a time")
        .duration_since(created.expect("a time"));
    assert_eq!(lives.as_hours(), 14 * 24);
    let program = server.client.bearing(token);
    until("the server knows it", || program.get(INFO).status == 200);
    let shown = ada.get(PATH).body;
    assert!(
        shown.contains("reports") && !shown.contains(token),
        "{shown}"
    );

    let path = format!("{PATH}/{}", record["id"].as_str().expect("an id"));
    assert_eq!(ada.send("DELETE", &path, "", "").status, 204);
    until("it is gone", || program.get(INFO).status == 401);
    check(&ada.send("DELETE", &path, "", ""), 404, "not_found");
    assert_eq!(listed(&ada).len(), 1);
    let list = server.home.ran(&["-list-tokens"], "").stdout;
    assert!(
        list.contains("by hand") && !list.contains("reports"),
        "{list}"
    );

    let Server {
        home, mut program, ..
    } = server;
    program.signal(rustix::process::Signal::TERM);
    assert!(program.ended().success());
    let trail = std::fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    assert!(trail.contains("POST /api/admin/tokens"), "{trail}");
    assert!(!trail.contains(token), "{trail}");
    assert!(!program.log().contains(token));
}

#[test]
fn a_wrong_token_is_not_made() {
    let server = serve("", &[]);
    let ada = server.client.logged_in("ada", PASSWORD);
    for (body, code, message) in [
        ("[]", "bad_request", "Invalid request body"),
        (r#"{"note": 1}"#, "bad_request", "Invalid request body"),
        (
            r#"{"expiry": "6m"}"#,
            "bad_expiry",
            "Invalid expiry duration: invalid duration unit: m (use h, d, w, or y)",
        ),
        (
            r#"{"database": "other"}"#,
            "unknown_database",
            "unknown database: other",
        ),
        (
            r#"{"toolsets": ["all"]}"#,
            "unknown_toolset",
            "unknown toolset: all",
        ),
    ] {
        let answer = ada.post(PATH, body);
        check(&answer, 400, code);
        let error = answer.json()["error"].as_str().map(str::to_owned);
        assert!(
            error.is_some_and(|error| error.contains(message)),
            "{answer:?}"
        );
    }
    assert_eq!(listed(&ada).len(), 1);
    assert_eq!(
        ada.post(PATH, "{}").status,
        201,
        "every member has a default"
    );
}

#[test]
fn other_callers_cannot_administer() {
    let server = serve("", &[]);
    let bob = server.client.logged_in("bob", PASSWORD);
    let program = server.client.bearing(TOKEN);
    let one = format!("{PATH}/token-1");
    for (method, path) in [("GET", PATH), ("POST", PATH), ("DELETE", &*one)] {
        for client in [&bob, &program] {
            let answer = client.send(method, path, "", "");
            check(&answer, 403, "not_admin");
            assert_eq!(answer.json()["error"], "Administrators only");
        }
        assert_eq!(server.client.send(method, path, "", "").status, 401);
    }
    let ada = server.client.logged_in("ada", PASSWORD);
    assert_eq!(listed(&ada).len(), 1);
    // Nor can an administrator who has lost the rights.
    let ran = server.home.ran(
        &["-update-user", "-username", "ada", "-user-admin=false"],
        "",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    until("the rights are gone", || ada.get(PATH).status == 403);
    drop(server.program);
}

#[test]
fn without_authentication_there_is_nothing_to_administer() {
    let server = serve("", &["-no-auth"]);
    for method in ["GET", "POST"] {
        let answer = server.client.send(method, PATH, "", "");
        assert_eq!(
            (answer.status, &*answer.body),
            (404, r#"{"error":"Not found"}"#)
        );
    }
}
