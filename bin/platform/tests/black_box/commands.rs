//! Commands of administrators, which use the store directly.

use std::fs;

use serde_json::{Value, json};
use ziggurat_black_box::{Ran, output};

use crate::support::{Home, Session, request};

const URL: &str = "https://accounts.example";

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

#[test]
fn the_usage_goes_to_standard_output_and_an_invalid_command_line_exits_with_2() {
    let home = Home::new();
    let ran = home.ran(&["-help"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    assert!(
        ran.stdout.contains("membership owner MEMBERSHIP_ID"),
        "{}",
        ran.stdout
    );
    for words in [
        &["-nonsense"][..],
        &["tenant"],
        &["client", "create"],
        &["serve", "x"],
    ] {
        let ran = home.ran(words);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{words:?}");
        assert!(
            ran.stderr.contains("Run 'ziggurat-platform -help'"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_command_affects_a_running_server_at_once() {
    let home = Home::new();
    let (_program, session, _) = home.started();
    let made = home.done(&["client", "create", "-name", "ci", "-description", "CI"]);
    let other = Session::of(
        &session.client,
        &made["credential_id"],
        &made["credential_secret"],
    );
    assert_eq!(other.get("/tenants").status, 200);
    let listed = home.done(&["client", "list"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
    assert!(!listed.to_string().contains("secret"));
    let names = listed.to_string();
    assert!(
        names.contains("credential_id") && !names.contains("auth0"),
        "{names}"
    );
    home.done(&["client", "delete", text(&made["id"])]);
    assert_eq!(other.get("/tenants").status, 401);
    let again = home.ran(&["client", "delete", text(&made["id"])]);
    assert_eq!(
        (again.code, &*again.stderr),
        (Some(1), "ERROR: client not found\n")
    );
}

#[test]
fn tenants_are_made_and_deleted_and_must_be_named_if_there_are_several() {
    let home = Home::new();
    let nobody = home.ran(&["client", "list"]);
    assert!(
        nobody.stderr.contains("no tenant exists"),
        "{}",
        nobody.stderr
    );
    let (_program, session, first) = home.started();
    let made = home.done(&[
        "tenant",
        "create",
        "-name",
        "Acme",
        "-email",
        "Ann@example.com",
        "-plan",
        "enterprise",
        "-trial",
        "-domain",
        "example.com",
    ]);
    let tenant = text(&made["tenant"]["id"]);
    assert_eq!(made["membership"]["is_owner"], true);
    let several = home.ran(&["client", "list"]);
    assert!(
        several.stderr.contains("choose one with -tenant"),
        "{}",
        several.stderr
    );
    let client = home.done(&["client", "create", "-tenant", tenant, "-name", "a"]);
    let theirs = Session::of(
        &session.client,
        &client["credential_id"],
        &client["credential_secret"],
    );
    let seen = theirs.get("/tenants").json();
    assert_eq!(
        (&seen[0]["plan"], &seen[0]["plan_trial"]),
        (&json!("enterprise"), &json!(true))
    );
    assert_eq!(seen[0]["domain"], "example.com");
    home.done(&["tenant", "delete", tenant]);
    assert_eq!(theirs.get("/tenants").status, 401);
    let left = home.done(&["tenant", "list"]);
    assert_eq!(left.as_array().map(Vec::len), Some(1));
    assert_eq!(left[0]["id"], first["tenant_id"]);
}

#[test]
fn a_person_is_invited_accepts_and_becomes_the_owner() {
    let home = Home::new().with_flags(&["-public-url", URL]);
    let (_program, session, first) = home.started();
    let ran = home.ran(&[
        "invite",
        "create",
        "-email",
        "bob@example.com",
        "-out",
        "i.json",
    ]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), ""), "{}", ran.stderr);
    assert_eq!(home.mode("i.json"), 0o600);
    let invite: Value =
        serde_json::from_str(&fs::read_to_string(home.file("i.json")).expect("written"))
            .expect("JSON");
    let listed = session.get("/invites").json();
    assert_eq!(listed[0]["email"], "bob@example.com");
    fs::write(home.file("token"), format!("{}\n", text(&invite["token"]))).expect("written");
    let id = text(&invite["id"]);
    let none = home.ran(&["invite", "accept", id]);
    assert!(
        none.stderr.contains("needs -token or -token-file"),
        "{}",
        none.stderr
    );
    let bob = home.done(&[
        "invite",
        "accept",
        id,
        "-token-file",
        "token",
        "-first-name",
        "Bob",
    ]);
    assert_eq!(
        (&bob["user_name"], &bob["is_owner"]),
        (&json!("Bob"), &json!(false))
    );
    home.done(&["membership", "owner", text(&bob["id"])]);
    home.done(&["membership", "delete", text(&first["membership_id"])]);
    let members = home.done(&["membership", "list"]);
    assert_eq!(members.as_array().map(Vec::len), Some(1));
    assert_eq!(members[0]["is_owner"], true);

    let token = home.done(&["user", "token", "-email", "bob@example.com"]);
    let person = session.client.bearing(text(&token["access_token"]));
    assert_eq!(
        person.get("/account/v1/users/me").json()["first_name"],
        "Bob"
    );
    let body = json!({"email": "eve@example.com"});
    let invited = request(&person, "POST", "/account/v1/invites", Some(&body));
    assert_eq!(invited.status, 200, "{invited:?}");
    let withdrawn = invited.json();
    home.done(&["invite", "delete", text(&withdrawn["id"])]);
    assert_eq!(session.get("/invites").body, "[]");
}

#[test]
fn a_running_server_signs_with_a_new_key_and_drops_the_old_one_on_request() {
    let home = Home::new();
    let (program, session, made) = home.started();
    let keys = || session.client.get("/.well-known/jwks.json").json();
    let first = keys();
    home.done(&["key", "rotate"]);
    ziggurat_black_box::until("the new key is there", || {
        keys()["keys"].as_array().map(Vec::len) == Some(2)
    });
    assert_eq!(session.get("/tenants").status, 200, "the old token");
    assert_eq!(keys()["keys"][1], first["keys"][0]);
    home.done(&["key", "rotate", "-revoke"]);
    ziggurat_black_box::until("the old keys are gone", || {
        session.get("/tenants").status == 401
    });
    let again = Session::of(&session.client, &made["client_id"], &made["client_secret"]);
    assert_eq!(again.get("/tenants").status, 200);
    assert_eq!(home.mode("data/signing-keys.json"), 0o600);
    drop(program);
}

#[test]
fn no_command_reads_standard_input() {
    let home = Home::new();
    let run = |words: &[&str]| {
        let command = home.command(words);
        let mut closed = std::process::Command::new("/bin/sh");
        closed.args(["-c", "exec \"$0\" \"$@\" <&-"]);
        closed.arg(command.get_program()).args(command.get_args());
        let ran = Ran::from(output(closed.env_clear()));
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap_or(Value::Null)
    };
    run(&["init"]);
    let made = run(&["client", "create", "-name", "ci", "-description", "CI"]);
    run(&["client", "list"]);
    run(&["client", "delete", text(&made["id"])]);
    let made = run(&["invite", "create", "-email", "a@b.example"]);
    run(&["invite", "list"]);
    run(&["invite", "delete", text(&made["id"])]);
    run(&["membership", "list"]);
    run(&["key", "rotate"]);
}
