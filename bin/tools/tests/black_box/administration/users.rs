//! Tests of the administration of users.

use std::{fs, thread};

use serde_json::{Value, json};

use super::{INFO, Server, TOKEN, check, serve};
use crate::support::{Client, records::PASSWORD, until};

const PATH: &str = "/api/admin/users";

fn listed(client: &Client, name: &str) -> Value {
    let answer = client.get(PATH);
    assert_eq!(answer.status, 200, "{answer:?}");
    let users = answer.json()["users"].take();
    let mut users = users.as_array().expect("a list").iter();
    let found = users.find(|user| user["username"] == name);
    found.cloned().unwrap_or_default()
}

fn change(client: &Client, name: &str, body: &Value) -> Value {
    let path = format!("{PATH}/{name}");
    let answer = client.send("PATCH", &path, "", &body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn an_administrator_makes_changes_and_deletes_users() {
    let server = serve("audit: {file: audit.jsonl}\n", &[]);
    let ada = server.client.logged_in("ada", PASSWORD);
    let body = json!({"username": "eve e", "note": "on call", "databases": ["main"]});
    let answer = ada.post(PATH, &body.to_string());
    assert_eq!(answer.status, 201, "{answer:?}");
    let made = answer.json();
    let password = made["password"].as_str().expect("a password").to_owned();
    assert_eq!(password.len(), 24);
    assert!(made["user"]["created_at"].is_string());
    let expected = json!({
        "username": "eve e",
        "note": "on call",
        "enabled": true,
        "admin": false,
        "databases": ["main"],
        "created_at": made["user"]["created_at"],
        "last_login": null,
        "failed_attempts": 0,
        "sessions": 0,
    });
    assert_eq!(made["user"], expected);

    let eve = server.client.logged_in("eve e", &password);
    let _second = server.client.logged_in("eve e", &password);
    let seen = listed(&ada, "eve e");
    assert_eq!(seen["sessions"], 2);
    assert!(seen["last_login"].is_string());

    let changed = change(&ada, "eve%20e", &json!({"enabled": false, "note": ""}));
    assert_eq!(changed["enabled"], false);
    assert_eq!(changed["note"], "");
    assert_eq!(changed["sessions"], 0);
    assert_eq!(eve.get(INFO).status, 401, "the session has ended");
    let changed = change(&ada, "eve%20e", &json!({"enabled": true, "databases": []}));
    assert_eq!(
        (&changed["enabled"], &changed["databases"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(eve.get(INFO).status, 401, "and does not return");

    let eve = server.client.logged_in("eve e", &password);
    let path = format!("{PATH}/eve%20e");
    assert_eq!(ada.send("DELETE", &path, "", "").status, 204);
    assert_eq!(eve.get(INFO).status, 401);
    check(&ada.send("DELETE", &path, "", ""), 404, "not_found");
    check(&ada.send("PATCH", &path, "", "{}"), 404, "not_found");
    assert_eq!(listed(&ada, "eve e"), json!(null));

    let Server {
        home, mut program, ..
    } = server;
    program.signal(rustix::process::Signal::TERM);
    assert!(program.ended().success());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    for call in [
        "POST /api/admin/users",
        "PATCH /api/admin/users/",
        "DELETE /api/admin/users/",
    ] {
        assert!(trail.contains(call), "{call}: {trail}");
    }
    assert!(!trail.contains(&password), "{trail}");
    assert!(!program.log().contains(&password));
}

#[test]
fn a_password_is_changed_and_failed_sign_ins_are_cleared() {
    let server = serve(
        "http: {auth: {max_failed_attempts_before_lockout: 2}}\n",
        &[],
    );
    let ada = server.client.logged_in("ada", PASSWORD);
    for _ in 0..2 {
        server.client.login("bob", "wrong");
    }
    let bob = listed(&ada, "bob");
    assert_eq!(
        (&bob["enabled"], &bob["failed_attempts"]),
        (&json!(false), &json!(2))
    );
    let body = json!({"enabled": true, "password": "another password"});
    let bob = change(&ada, "bob", &body);
    assert_eq!(
        (&bob["enabled"], &bob["failed_attempts"]),
        (&json!(true), &json!(0))
    );
    server.client.logged_in("bob", "another password");
    let answer = server.client.login("bob", PASSWORD);
    assert!(
        answer.body.contains("invalid username or password"),
        "{answer:?}"
    );
}

#[test]
fn the_sessions_of_a_user_end_and_new_ones_begin() {
    let server = serve("", &[]);
    let ada = server.client.logged_in("ada", PASSWORD);
    let bobs = [(), ()].map(|()| server.client.logged_in("bob", PASSWORD));
    let path = format!("{PATH}/bob/sessions");
    assert_eq!(ada.send("DELETE", &path, "", "").status, 204);
    for bob in bobs {
        assert_eq!(bob.get(INFO).status, 401);
    }
    assert_eq!(listed(&ada, "bob")["sessions"], 0);
    assert_eq!(listed(&ada, "ada")["sessions"], 1);
    server.client.logged_in("bob", PASSWORD);
    let answer = ada.send("DELETE", &format!("{PATH}/eve/sessions"), "", "");
    check(&answer, 404, "not_found");
}

#[test]
fn a_wrong_user_is_not_made() {
    let server = serve("", &[]);
    let ada = server.client.logged_in("ada", PASSWORD);
    for (body, status, code) in [
        ("[]", 400, "bad_request"),
        ("{}", 400, "bad_request"),
        (r#"{"username": ""}"#, 400, "bad_request"),
        (r#"{"username": "eve", "note": 1}"#, 400, "bad_request"),
        (
            r#"{"username": "eve", "password": "short"}"#,
            400,
            "bad_password",
        ),
        (
            r#"{"username": "eve", "password": ""}"#,
            400,
            "bad_password",
        ),
        (
            r#"{"username": "eve", "databases": ["main", "x"]}"#,
            400,
            "unknown_database",
        ),
        (r#"{"username": "eve", "admin": false}"#, 400, "not_here"),
        (r#"{"username": "bob"}"#, 409, "exists"),
    ] {
        check(&ada.post(PATH, body), status, code);
    }
    let path = format!("{PATH}/bob");
    for (body, code) in [
        ("[]", "bad_request"),
        (r#"{"enabled": "yes"}"#, "bad_request"),
        (r#"{"password": "short", "note": "x"}"#, "bad_password"),
        (r#"{"databases": ["x"], "note": "x"}"#, "unknown_database"),
        (r#"{"admin": true, "note": "x"}"#, "not_here"),
    ] {
        check(&ada.send("PATCH", &path, "", body), 400, code);
    }
    assert_eq!(listed(&ada, "bob")["note"], "");
    assert_eq!(listed(&ada, "eve"), json!(null));
}

#[test]
fn the_last_enabled_administrator_stays() {
    let server = serve("", &[]);
    let ada = server.client.logged_in("ada", PASSWORD);
    let path = format!("{PATH}/ada");
    let disable = r#"{"enabled": false}"#;
    check(&ada.send("PATCH", &path, "", disable), 409, "last_admin");
    check(&ada.send("DELETE", &path, "", ""), 409, "last_admin");
    assert_eq!(listed(&ada, "ada")["enabled"], true);
    let ran = server.home.ran(
        &["-update-user", "-username", "bob", "-user-admin=true"],
        "",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    until("bob administers", || listed(&ada, "bob")["admin"] == true);
    assert_eq!(ada.send("PATCH", &path, "", disable).status, 200);
    assert_eq!(ada.get(PATH).status, 401, "the own session ends too");
}

#[test]
fn command_line_and_endpoints_change_the_file_at_the_same_time() {
    let server = serve("", &[]);
    let ada = server.client.logged_in("ada", PASSWORD);
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..5 {
                let note = format!("note {turn}");
                change(&ada, "bob", &json!({"note": note}));
            }
        });
        for name in ["one", "two"] {
            server.home.user(name, PASSWORD);
        }
    });
    assert_eq!(listed(&ada, "bob")["note"], "note 4");
    assert_eq!(listed(&ada, "one")["username"], "one");
    assert_eq!(listed(&ada, "two")["username"], "two");
}

#[test]
fn other_callers_cannot_administer_users() {
    let server = serve("", &[]);
    let bob = server.client.logged_in("bob", PASSWORD);
    let program = server.client.bearing(TOKEN);
    let (one, sessions) = (format!("{PATH}/bob"), format!("{PATH}/bob/sessions"));
    let calls = [
        ("GET", PATH),
        ("POST", PATH),
        ("PATCH", &*one),
        ("DELETE", &*one),
        ("DELETE", &*sessions),
    ];
    for (method, path) in calls {
        for client in [&bob, &program] {
            check(&client.send(method, path, "", ""), 403, "not_admin");
        }
        assert_eq!(server.client.send(method, path, "", "").status, 401);
    }
    let open = serve("", &["-no-auth"]);
    for (method, path) in calls {
        let answer = open.client.send(method, path, "", "{}");
        assert_eq!(
            (answer.status, &*answer.body),
            (404, r#"{"error":"Not found"}"#)
        );
    }
}
