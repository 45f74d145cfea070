//! The first start: one tenant, one owner, one client with its secret.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Home, Session, exchange, request};

#[test]
fn a_first_start_makes_a_tenant_its_owner_and_a_client_that_signs_in() {
    let home = Home::new();
    let (_program, session, made) = home.started();
    let clients = session.get("/clients").json();
    assert_eq!(clients.as_array().map(Vec::len), Some(1));
    assert_eq!(clients[0]["id"], made["client_record_id"]);
    assert_eq!(clients[0]["auth0_id"], made["client_id"]);
    let tenants = session.get("/tenants").json();
    assert_eq!(tenants.as_array().map(Vec::len), Some(1));
    assert_eq!(tenants[0]["id"], made["tenant_id"]);
    let members = session.get("/memberships").json();
    assert_eq!(members.as_array().map(Vec::len), Some(1));
    assert_eq!(members[0]["id"], made["membership_id"]);
    assert_eq!(members[0]["is_owner"], true);
    assert_eq!(session.get("/invites").body, "[]");
    for name in ["data/platform.db", "data/signing-keys.json"] {
        assert_eq!(home.mode(name), 0o600, "{name}");
    }
    let again = home.ran(&["init"]);
    assert_eq!((again.code, &*again.stdout), (Some(1), ""));
    assert!(
        again.stderr.contains("a tenant exists already"),
        "{}",
        again.stderr
    );
}

#[test]
fn a_secret_can_go_to_a_file_of_its_own_instead() {
    let home = Home::new();
    let ran = home.ran(&["init", "-out", "first.json"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), ""), "{}", ran.stderr);
    assert_eq!(home.mode("first.json"), 0o600);
    let text = fs::read_to_string(home.file("first.json")).expect("written");
    let made: Value = serde_json::from_str(&text).expect("JSON");
    let (_program, client) = home.serve();
    let answer = exchange(&client, &made["client_id"], &made["client_secret"]);
    assert_eq!(answer.status, 200, "{answer:?}");

    let taken = home.ran(&["client", "create", "-name", "ci", "-out", "first.json"]);
    assert_eq!(taken.code, Some(1));
    assert!(taken.stderr.contains("first.json"), "{}", taken.stderr);
    let session = Session::of(&client, &made["client_id"], &made["client_secret"]);
    let clients = session.get("/clients").json();
    assert_eq!(
        clients.as_array().map(Vec::len),
        Some(1),
        "nothing was made"
    );
}

#[test]
fn stored_accounts_survive_a_restart() {
    let home = Home::new();
    let (program, session, made) = home.started();
    let token = session.token;
    drop(program);
    let (_program, client) = home.serve();
    let session = Session::of(&client, &made["client_id"], &made["client_secret"]);
    assert_ne!(session.token, token);
    assert_eq!(session.get("/tenants").json()[0]["id"], made["tenant_id"]);
}

#[test]
fn a_server_with_test_hooks_fails_on_request_and_has_a_movable_clock() {
    let home = Home::new().with_flags(&["-test-hooks", "-test-clock", "2026-01-02T03:04:05Z"]);
    let (program, session, _) = home.started();
    program.wait_for("WARN clients can make this server fail");
    let client = &session.client;
    let plan = json!({"path": "/account/v1/tenants", "status": 503, "retry_after": "7",
        "body": "<html>", "content_type": "text/html"});
    assert_eq!(
        request(client, "POST", "/test/v1/next", Some(&plan)).status,
        204
    );
    assert_eq!(session.get("/clients").status, 200, "of another path");
    let failed = session.get("/tenants");
    assert_eq!((failed.status, &*failed.body), (503, "<html>"));
    assert_eq!(failed.header("retry-after"), Some("7"));
    assert_eq!(failed.header("content-type"), Some("text/html"));
    assert_eq!(session.get("/tenants").status, 200, "only once");

    let made = session.send(
        "POST",
        "/clients",
        Some(&json!({"name": "a", "description": ""})),
    );
    assert_eq!(made.json()["created_at"], "2026-01-02T03:04:05Z");
    let day = json!({"advance": 24 * 3600});
    assert_eq!(
        request(client, "POST", "/test/v1/clock", Some(&day)).status,
        204
    );
    assert_eq!(session.get("/tenants").status, 401, "the token has ended");
}

#[test]
fn a_server_without_test_hooks_refuses_their_requests_and_flags() {
    let home = Home::new();
    let (_program, session, _) = home.started();
    let plan = json!({"status": 503});
    assert_eq!(
        request(&session.client, "POST", "/test/v1/next", Some(&plan)).status,
        404
    );
    let ran = home.ran(&["-test-clock", "2026-01-02T03:04:05Z"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("-test-clock: needs -test-hooks"),
        "{}",
        ran.stderr
    );
}
