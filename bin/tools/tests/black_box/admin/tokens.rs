//! Tests of `-add-token`, `-list-tokens`, `-remove-token`.

use std::fs;

use serde_json::json;
use ziggurat_layers::bearer::TokenHash;

use super::{assert_failed, done, home, value};
use crate::support::{Home, records};

const ADD: [&str; 7] = [
    "-add-token",
    "-token-note",
    "Production API",
    "-token-database",
    "docs",
    "-token-expiry",
    "365d",
];

/// Returns whether a word is a whole number.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a text matches a pattern in which `0` stands for any digit.
fn looks_like(text: &str, model: &str) -> bool {
    text.len() == model.len()
        && text
            .bytes()
            .zip(model.bytes())
            .all(|(byte, model)| match model {
                b'0' => byte.is_ascii_digit(),
                model => byte == model,
            })
}

#[test]
fn a_new_token_is_shown_once_with_its_details() {
    let home = home();
    let ran = home.ran(&ADD, "");
    let announced = format!("Creating new token file: {}\n", home.tokens().display());
    assert_eq!((ran.code, &*ran.stderr), (Some(0), &*announced));
    let text = ran.stdout;
    assert!(text.contains("Token created successfully:\n"), "{text}");
    let token = value(&text, "Token: ");
    let random = token.strip_prefix("zig_").expect("a prefix for scanners");
    assert_eq!(random.len(), 44, "32 bytes in base64 with padding");
    assert!(
        token.ends_with('=') && !token.contains(['+', '/']),
        "{token}"
    );
    let id = value(&text, "ID: ");
    assert!(id.strip_prefix("token-").is_some_and(is_number), "{id}");
    assert_eq!(value(&text, "Note: "), "Production API");
    assert_eq!(value(&text, "Database: "), "docs");
    let expiry = value(&text, "Expiry: ");
    assert!(
        looks_like(expiry, "0000-00-00 (365 days from now)"),
        "{expiry}"
    );
    let hash = TokenHash::of(token).to_string();
    assert_eq!(value(&text, "Hash (first 12 chars): "), &hash[..12]);
    let warning = text.lines().last().unwrap_or_default();
    assert!(warning.contains("cannot be shown again"), "{text}");

    let file = fs::read_to_string(home.tokens()).expect("written");
    assert!(file.contains(&hash) && !file.contains(token), "{file}");
    assert!(file.contains("database: docs"), "{file}");
    // The second is added to the same file, possibly within the same second.
    let second = done(home.ran(&ADD, ""));
    assert_ne!(value(&second, "ID: "), id);
    assert_ne!(value(&second, "Token: "), token);
}

#[test]
fn an_invalid_flag_creates_nothing() {
    let home = home();
    for (flag, value, message) in [
        ("-token-database", "shop", "unknown database: shop"),
        (
            "-token-expiry",
            "6m",
            "Invalid expiry duration: invalid duration unit: m (use h, d, w, or y)",
        ),
        (
            "-token-expiry",
            "d",
            "Invalid expiry duration: invalid duration format",
        ),
    ] {
        let expiry = ["-token-expiry", "1d"];
        let ran = home.ran(&[&["-add-token"], &expiry[..], &[flag, value]].concat(), "");
        assert_failed(&ran, message);
    }
    assert!(!home.tokens().exists());
}

#[test]
fn a_token_needs_no_database() {
    let home = Home::new();
    let words = ["-add-token", "-token-note", "n", "-token-expiry", "1d"];
    let ran = home.ran(&words, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let first = "(the first one that will be configured)";
    assert_eq!(value(&ran.stdout, "Database: "), first);
    home.configure("http: {enabled: true}\n");
    assert_eq!(value(&done(home.ran(&words, "")), "Database: "), first);
    // Any database counts, also one of the environment.
    let mut home = Home::new();
    home.set("PGUSER", "reader");
    let ran = home.ran(&words, "");
    assert_eq!(value(&ran.stdout, "Database: "), "(first configured)");
}

#[test]
fn the_list_shows_everything_but_the_token() {
    let home = home();
    assert_eq!(done(home.ran(&["-list-tokens"], "")), "No tokens found.\n");
    assert_eq!(
        done(home.ran(&["-list-tokens", "-output=json"], "")),
        "[]\n"
    );
    let old = records::token(
        1_730_283_330,
        "old",
        &["expires_at: \"2025-10-30T10:15:30Z\"", "database: docs"],
    );
    let endless = records::token(7, "endless", &[]).replace("2026-01-01", "2026-01-02");
    home.replace(&home.tokens(), &records::tokens(&[endless, old]));
    let hash = |token| TokenHash::of(token).to_string()[..12].to_owned();
    let expected = format!(
        "API Tokens:\n===========\n\nID: token-1730283330\nNote: by hand\nDatabase: docs\nHash \
         (first 12 chars): {}\nCreated: 2026-01-01 00:00:00\nExpires: 2025-10-30 \
         10:15:30\nStatus: Expired\n\nID: token-7\nNote: by hand\nDatabase: (first \
         configured)\nHash (first 12 chars): {}\nCreated: 2026-01-02 00:00:00\nExpires: \
         Never\nStatus: Valid\n\nTotal tokens: 2\n",
        hash("old"),
        hash("endless"),
    );
    assert_eq!(done(home.ran(&["-list-tokens"], "")), expected);
    let list = done(home.ran(&["-list-tokens", "-output", "json"], ""));
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let expected = json!({
        "id": "token-1730283330",
        "note": "by hand",
        "hash_prefix": hash("old"),
        "database": "docs",
        "toolsets": [],
        "claims": [],
        "created_at": "2026-01-01T00:00:00Z",
        "expires_at": "2025-10-30T10:15:30Z",
        "expired": true,
    });
    assert_eq!(list[0], expected);
    assert_eq!(list[1]["expires_at"], serde_json::Value::Null);
}

#[test]
fn a_token_is_removed_by_its_id_or_the_start_of_its_hash() {
    let home = home();
    let tokens = [1, 2, 3, 4].map(|number| records::token(number, &number.to_string(), &[]));
    home.replace(&home.tokens(), &records::tokens(&tokens));
    let hash = |token| TokenHash::of(token).to_string();
    let (second, third) = (hash("2"), hash("3").to_uppercase());
    for identifier in ["token-1", &second[..8], &third] {
        let text = done(home.ran(&["-remove-token", identifier], ""));
        assert_eq!(text, format!("Token removed successfully: {identifier}\n"));
    }
    let fourth = hash("4");
    let wrong = format!("{}0", &fourth[..63]);
    for identifier in ["token-1", &fourth[..7], &wrong, "token-", ""] {
        let ran = home.ran(&["-remove-token", identifier], "");
        assert_failed(&ran, &format!("token not found: {identifier}"));
    }
    let list = done(home.ran(&["-list-tokens"], ""));
    assert!(list.ends_with("\nTotal tokens: 1\n"), "{list}");
}

#[test]
fn a_prefix_that_two_hashes_share_removes_neither() {
    let home = home();
    let one = records::token(1, "one", &[]);
    let hash = TokenHash::of("one").to_string();
    let other = format!("{}{}", &hash[..20], "0".repeat(44));
    let two = one.replace(&hash, &other).replace("token-1", "token-2");
    home.replace(&home.tokens(), &records::tokens(&[one, two]));
    let ran = home.ran(&["-remove-token", &hash[..20]], "");
    assert_failed(&ran, &format!("several tokens match: {}", &hash[..20]));
    let list = done(home.ran(&["-list-tokens"], ""));
    assert!(list.ends_with("\nTotal tokens: 2\n"), "{list}");
}

#[test]
fn the_older_format_of_the_file_is_read_and_nothing_is_lost() {
    let home = home();
    let hash = TokenHash::of("old").to_string();
    let older = format!(
        "version: 3\ntokens:\n  token-1730283330:\n    hash: {hash}\n    expires_at: null\n    \
         annotation: Production API\n    created_at: 2024-10-30T10:15:30.123456789Z\n    \
         database: docs\n    team: blue\n"
    );
    home.replace(&home.tokens(), &older);
    let list = done(home.ran(&["-list-tokens"], ""));
    for line in [
        "ID: token-1730283330",
        "Note: Production API",
        "Database: docs",
        "Created: 2024-10-30 10:15:30",
        "Expires: Never",
        "Status: Valid",
    ] {
        assert!(list.contains(&format!("\n{line}\n")), "{line}: {list}");
    }
    done(home.ran(&ADD, ""));
    let file = fs::read_to_string(home.tokens()).expect("written");
    for part in ["version: 3", "team: blue", "note: Production API", &hash] {
        assert!(file.contains(part), "{part}: {file}");
    }
    assert!(
        file.contains("- id: token-1730283330"),
        "a list now: {file}"
    );
    done(home.ran(&["-remove-token", "token-1730283330"], ""));
}
