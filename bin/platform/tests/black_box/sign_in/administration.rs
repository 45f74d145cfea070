//! Commands of administrators beside a running server.

use std::fs;

use serde_json::{Value, json};
use ziggurat_black_box::{Browser, OAuthClient, granted, until};

use super::{ALL, PASSWORD, add_person, home, path, set_password, wait_for_revocation};
use crate::support::{Client, Home};

const REDIRECT: &str = "https://app.example/callback";

/// Runs a command that is refused, and returns the reason.
fn refused(home: &Home, words: &[&str]) -> String {
    let ran = home.ran(words);
    assert_eq!(ran.code, Some(1), "{words:?}: {}", ran.stdout);
    ran.stderr
}

/// Starts a server with one person.
fn started() -> (Home, ziggurat_black_box::Program, Client) {
    let home = home();
    home.done(&["init"]);
    let (program, client) = home.serve();
    add_person(&home, &client, "ann@shop.example");
    (home, program, client)
}

#[test]
fn an_app_is_made_signs_people_in_and_is_deleted_with_its_grants() {
    let (home, _program, client) = started();
    let made = home.done(&[
        "app",
        "create",
        "-name",
        "Acme",
        "-redirect-uri",
        REDIRECT,
        "-redirect-uri",
        "http://localhost:3118/callback",
    ]);
    assert_eq!(made["client_secret"], Value::Null);
    let id = made["client_id"].as_str().expect("an id");
    let acme = OAuthClient::of(&client, id);
    let page = Browser::new(&client).sign_in(&acme.request("mcp"), "ann@shop.example", PASSWORD);
    assert!(
        page.body.contains("registered by the administrator"),
        "{page:?}"
    );
    let tokens = acme.tokens("ann@shop.example", PASSWORD, &ALL);
    OAuthClient::register(&client);
    let listed = home.done(&["app", "list"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
    assert_eq!(listed[0]["kind"], "dynamic");
    assert_eq!(
        (&listed[1]["name"], &listed[1]["client_id"]),
        (&json!("Acme"), &json!(id))
    );
    assert_eq!(listed[1]["redirect_uris"][0], REDIRECT);
    assert_eq!(listed[1]["has_secret"], false);
    home.done(&["app", "delete", id]);
    wait_for_revocation(&client);
    assert_eq!(
        acme.refresh(&tokens.refresh).json()["error"],
        "invalid_client"
    );
    assert_eq!(client.get(&acme.request("mcp")).status, 400);
    assert_eq!(
        refused(&home, &["app", "delete", id]),
        format!("ERROR: there is no app '{id}'\n")
    );
}

#[test]
fn the_secret_of_an_app_is_shown_once_or_goes_to_a_private_file() {
    let (home, _program, client) = started();
    let create = [
        "app",
        "create",
        "-name",
        "Acme",
        "-redirect-uri",
        REDIRECT,
        "-secret",
    ];
    let first = home.done(&create);
    let ran = home.ran(&[&create[..], &["-out", "app.json"]].concat());
    assert_eq!((ran.code, &*ran.stdout), (Some(0), ""), "{}", ran.stderr);
    assert_eq!(home.mode("app.json"), 0o600);
    let second = fs::read_to_string(home.file("app.json")).expect("written");
    let second: Value = serde_json::from_str(&second).expect("JSON");
    assert_ne!(first["client_secret"], second["client_secret"]);
    let listed = home.done(&["app", "list"]);
    for made in [&first, &second] {
        let secret = made["client_secret"].as_str().expect("a secret");
        assert!(!listed.to_string().contains(secret), "{listed}");
        // A wrong secret is told from a wrong code.
        for (secret, error) in [(secret, "invalid_grant"), ("wrong", "invalid_client")] {
            let id = made["client_id"].as_str().expect("an id");
            let form = format!(
                "grant_type=authorization_code&code=x&code_verifier=x&client_id={id}&\
                 client_secret={secret}"
            );
            let kind = "content-type: application/x-www-form-urlencoded\r\n";
            let answer = client.send("POST", "/oauth/token", kind, &form).json();
            assert_eq!(answer["error"], error, "{answer}");
        }
    }
    let again = refused(&home, &[&create[..], &["-out", "app.json"]].concat());
    assert!(again.starts_with("ERROR: -out app.json: "), "{again}");
    let evil = [
        "app",
        "create",
        "-name",
        "E",
        "-redirect-uri",
        "javascript:alert(1)",
    ];
    let evil = refused(&home, &[&evil[..], &["-out", "evil.json"]].concat());
    assert!(evil.contains("javascript:alert(1)"), "{evil}");
    assert!(!home.file("evil.json").exists());
    let listed = home.done(&["app", "list"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
}

#[test]
fn a_new_password_and_a_removed_second_factor_help_a_person_in_again() {
    let (home, _program, client) = started();
    let mail = ["-email", "ann@shop.example"];
    let made = home.done(&[&["user", "reset"][..], &mail].concat());
    let words = "twelve new words";
    set_password(&client, &path(&made["reset_url"]), words);
    let app = OAuthClient::register(&client);
    let old = Browser::new(&client).sign_in(&app.request("mcp"), mail[1], PASSWORD);
    assert_eq!(old.status, 403, "{old:?}");
    app.tokens(mail[1], words, &ALL);
    let reset = [&["user", "reset-second-factor"][..], &mail].concat();
    assert_eq!(
        refused(&home, &reset),
        "ERROR: ann@shop.example has no second factor\n"
    );
    let nobody = ["user", "reset-second-factor", "-email", "eve@shop.example"];
    assert_eq!(refused(&home, &nobody), "ERROR: user not found\n");
}

#[test]
fn a_new_key_with_revoke_ends_every_grant() {
    let (home, _program, client) = started();
    let app = OAuthClient::register(&client);
    let tokens = app.tokens("ann@shop.example", PASSWORD, &ALL);
    home.done(&["key", "rotate"]);
    let tokens = granted(&app.refresh(&tokens.refresh));
    home.done(&["key", "rotate", "-revoke"]);
    assert_eq!(home.done(&["grant", "list"]), json!([]));
    until("the server follows", || {
        app.refresh(&tokens.refresh).json()["error"] == "invalid_grant"
    });
}

#[test]
fn without_a_sign_in_its_commands_are_refused() {
    let home = Home::new();
    home.done(&["init"]);
    for words in [
        &["app", "list"][..],
        &["app", "create", "-name", "A", "-redirect-uri", REDIRECT],
        &["app", "delete", "app_x"],
        &["grant", "list"],
        &[
            "user",
            "link",
            "-email",
            "a@b.example",
            "-provider",
            "corp",
            "-subject",
            "1",
        ],
    ] {
        assert_eq!(
            refused(&home, words),
            "ERROR: people do not sign in here: set sign_in.enabled\n",
            "{words:?}"
        );
    }
}
