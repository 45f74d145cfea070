//! Claims on the command line.

use std::fs;

use serde_json::json;

use super::{NOTES, home, value};
use crate::support::{Home, Postgres};

const TOKEN: [&str; 7] = [
    "-add-token",
    "-token-note",
    "n",
    "-token-expiry",
    "never",
    "-token-database",
    "main",
];

fn add_token(home: &Home, more: &[&str]) -> ziggurat_black_box::Ran {
    home.ran(&[&TOKEN[..], more].concat(), "")
}

#[test]
fn claims_of_tokens_and_users_are_set_by_flags() {
    let postgres = Postgres::with(NOTES);
    let home = home(&postgres, "");
    let added = add_token(
        &home,
        &["-token-claim", "tenant=acme", "-token-claim=level=7"],
    );
    assert_eq!(added.code, Some(0), "{added:?}");
    let token = added
        .stdout
        .lines()
        .find_map(|it| it.strip_prefix("Token: "));
    let token = token.expect("a token").to_owned();
    let user = |command: &str, more: &[&str]| {
        let words = [command, "-username", "alice"];
        let ran = home.ran(&[&words[..], more].concat(), "");
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    let password = ["-password", "correct horse", "-user-note", "n"];
    let claims = ["-user-claim", "tenant=globex", "-user-claim", "level=1"];
    user("-add-user", &[&password[..], &claims].concat());
    user(
        "-update-user",
        &["-user-claim", "level=", "-user-claim", "x.y=2"],
    );
    let tokens = fs::read_to_string(home.tokens()).expect("a file");
    assert!(
        tokens.contains("  claims:\n    tenant: acme\n    level: '7'\n"),
        "{tokens}"
    );
    let users = fs::read_to_string(home.users()).expect("a file");
    assert!(
        users.contains("    claims:\n      tenant: globex\n      x.y: '2'\n"),
        "{users}"
    );
    for (command, expected) in [
        ("-list-tokens", "\nClaims: level, tenant\n"),
        ("-list-users", "\n  Claims: tenant, x.y\n"),
    ] {
        let ran = home.ran(&[command], "");
        assert!(ran.stdout.contains(expected), "{ran:?}");
        assert!(!ran.stdout.contains("acme") && !ran.stdout.contains("globex"));
    }
    let (_program, stranger) = home.serve(&[]);
    assert_eq!(value(&stranger.bearing(&token), "own_notes"), "red");
    let alice = stranger.logged_in("alice", "correct horse");
    assert_eq!(value(&alice, "own_notes"), "blue");
    let (sum, _) = stranger
        .bearing(&token)
        .tool("own_level", &json!({"more": 1}));
    assert_eq!(sum, "8");
}

#[test]
fn claims_that_are_not_valid_are_refused_before_anything_is_written() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let long = format!("a={}", "swordfish".repeat(114));
    let many: Vec<_> = (0..33)
        .map(|it| format!("-token-claim=c{it}=swordfish"))
        .collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    for (more, expected) in [
        (
            &["-token-claim", "swordfish"][..],
            "-token-claim: a claim is written as name=value",
        ),
        (
            &["-token-claim", "a="],
            "-token-claim: claim 'a' has no value",
        ),
        (
            &["-token-claim", "=swordfish"],
            "-token-claim: invalid name of a claim: ",
        ),
        (
            &["-token-claim", "a b=swordfish"],
            "-token-claim: invalid name of a claim: a b",
        ),
        (
            &["-token-claim", &*long],
            "-token-claim: claim 'a' has more than 1024 bytes",
        ),
        (
            &["-token-claim", "a=swordfish", "-token-claim", "a=swordfish"],
            "-token-claim: claim 'a' is given twice",
        ),
        (&many[..], "-token-claim: more than 32 claims"),
        (
            &["-user-claim", "a=swordfish"],
            "-user-claim goes with -add-user or -update-user",
        ),
    ] {
        let ran = add_token(&home, more);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let expected = format!("Error: {expected}\nRun 'ziggurat-tools -help' for the flags.\n");
        assert_eq!(ran.stderr, expected);
        assert!(!home.tokens().exists());
    }
}

#[test]
fn a_user_has_at_most_32_claims() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    home.user("alice", "correct horse");
    let names = |range: std::ops::Range<usize>| -> Vec<String> {
        range
            .map(|it| format!("-user-claim=c{it}=swordfish"))
            .collect()
    };
    let update = |claims: &[String]| {
        let words = ["-update-user", "-username", "alice"].into_iter();
        let words: Vec<_> = words.chain(claims.iter().map(String::as_str)).collect();
        home.ran(&words, "")
    };
    assert_eq!(update(&names(0..30)).code, Some(0));
    let ran = update(&names(29..33));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("failed to update user: more than 32 claims"),
        "{ran:?}"
    );
    assert_eq!(update(&names(28..32)).code, Some(0));
}
