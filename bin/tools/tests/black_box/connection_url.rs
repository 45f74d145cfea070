//! Tests of a database by its connection URL, and of the sources of passwords.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::json;

use crate::support::{Home, Postgres, Ran};

const EXCLUDED: &str = "a connection URL and configured databases exclude each other";

fn bare(home: &Home, words: &[&str]) -> Ran {
    Ran::from(home.bare(words).output().expect("built"))
}

/// Returns the name of the database that a program with these arguments connects to, and its log.
fn connected_to(home: &Home, words: &[&str]) -> (String, String) {
    let (mut program, mut stdio) = home.bare_stdio(words);
    let query = json!({"query": "SELECT current_database() AS name"});
    let (text, is_error) = stdio.tool("query_database", &query);
    assert!(!is_error, "{text}");
    stdio.hang_up();
    assert!(program.ended().success());
    let name = text.lines().last().unwrap_or_default().to_owned();
    assert!(text.starts_with(&format!("Database: {name}\n")), "{text}");
    (name, program.whole_log())
}

#[test]
fn a_connection_url_is_enough_to_start() {
    let postgres = Postgres::new();
    let mut home = Home::new();
    // With a connection URL, only the flag -http selects HTTP.
    home.set("ZIGGURAT_HTTP_ENABLED", "true");
    let (name, log) = connected_to(&home, &[&postgres.url()]);
    assert_eq!(name, postgres.name());
    assert!(log.contains("Mode: STDIO"), "{log}");
    let url = postgres.url();
    let password = postgres.password();
    if password.is_empty() {
        return;
    }
    assert!(
        log.contains("can read the password in the connection URL"),
        "{log}"
    );
    assert!(!log.contains(&format!(":{password}@")), "{log}");

    home.set("PGPASSWORD", &*password);
    let (name, log) = connected_to(&home, &[&url.replacen(&format!(":{password}@"), "@", 1)]);
    assert_eq!(name, postgres.name());
    assert!(!log.contains("WARN the password"), "{log}");
}

#[test]
fn the_variable_counts_if_no_setting_of_ziggurat_names_a_database() {
    let postgres = Postgres::new();
    let mut home = Home::new();
    home.set("DATABASE_URL", postgres.url());
    // Without the URL, these variables would describe a database.
    home.set("PGUSER", "nobody");
    home.set("PGDATABASE", "no_such_database");
    let (name, log) = connected_to(&home, &[]);
    assert_eq!(name, postgres.name());
    assert!(!log.contains("WARN the password"), "{log}");

    let other = Home::with(&Postgres::new());
    let config = other.file("ziggurat-tools.yaml").display().to_string();
    let ran = bare(&home, &["-config", &config, "-check-config"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");

    home.set("DATABASE_URL", "mysql://a/b");
    let ran = bare(&home, &["-check-config"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expected = "warning: DATABASE_URL is ignored: it is not a postgres:// URL\n";
    assert_eq!(ran.stderr, expected);
    home.set("DATABASE_URL", "postgres://u:sword@fish@db/a");
    let ran = bare(&home, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let expected = "ERROR: invalid configuration: DATABASE_URL: invalid connection URL: it has \
                    more than one '@'";
    assert!(ran.stderr.starts_with(expected), "{ran:?}");
    assert!(!ran.stderr.contains("fish"), "{ran:?}");
}

#[test]
fn an_invalid_url_is_refused_and_no_part_of_it_is_shown() {
    let home = Home::new();
    for (words, code, message) in [
        (
            &["postgres://u:sword@fish@db/a"][..],
            1,
            "invalid connection URL: it has more than one '@'",
        ),
        (
            &["postgresql://u@db/a?swordfish=1"],
            1,
            "invalid connection URL: a parameter is not supported",
        ),
        (
            &["-db-host", "a", "postgres://u:swordfish@db/a"],
            1,
            EXCLUDED,
        ),
        (
            &["postgres://u:swordfish@db/a", "-http"],
            1,
            "unexpected arguments: postgres://… -http",
        ),
        (&["mysql://u@db/a"], 1, "unexpected arguments: mysql://…"),
    ] {
        let ran = bare(&home, words);
        assert_eq!((ran.code, &*ran.stdout), (Some(code), ""), "{words:?}");
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
        assert!(!ran.stderr.contains("fish"), "{}", ran.stderr);
    }
    home.configure("databases: [{name: a, user: b}]");
    let ran = home.ran_before(&["postgres://u@db/a"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains(EXCLUDED), "{}", ran.stderr);
}

#[test]
fn the_password_of_the_environment_is_used_for_every_database_without_one() {
    let mut postgres = Postgres::new();
    let role = postgres.role();
    let mut home = Home::new();
    let entries = ["one", "two"].map(|name| postgres.entry_as(name, &role));
    let without = entries
        .concat()
        .replace(&format!("    password: {role}\n"), "");
    assert!(!without.contains("password"), "{without}");
    home.configure(&format!("databases:\n{without}"));
    home.set("PGPASSWORD", &*role);
    for name in ["one", "two"] {
        let token = home.token(name);
        let (_program, client) = home.serve(&[]);
        let text = client.bearing(&token).query("SELECT current_user AS name");
        assert!(text.ends_with(&role), "{name}: {text}");
    }
}

#[test]
fn a_password_file_that_others_may_read_is_a_warning() {
    let mut home = Home::new();
    home.configure("databases: [{name: main, user: reader}]");
    let path = home.file("pgpass");
    fs::write(&path, "*:*:*:*:swordfish\n").expect("written");
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    };
    home.set("PGPASSFILE", path.display().to_string());
    for (mode, is_warned) in [(0o644, true), (0o640, true), (0o600, false)] {
        set_mode(&path, mode);
        let ran = home.ran(&["-check-config"], "");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let expected = format!(
            "warning: password file \"{}\" has group or world access; permissions should be u=rw (0600) or less, so it is ignored\n",
            path.display()
        );
        assert_eq!(
            ran.stderr == expected,
            is_warned,
            "{mode:o}: {}",
            ran.stderr
        );
    }
    set_mode(&path, 0o644);
    let (program, _client) = home.serve(&["-no-auth"]);
    program.wait_for("WARN password file ");
}

#[test]
fn a_server_that_is_started_with_a_connection_url_negotiates_and_so_it_does_with_the_flag() {
    let postgres = Postgres::new();
    let mut with_variables = Home::new();
    for (name, value) in postgres.environment() {
        with_variables.set(name, value);
    }
    let bare = Home::new();
    let configured = Home::new();
    configured.configure("mcp: {stdio_negotiate: false}\n");
    let config = configured.file("ziggurat-tools.yaml").display().to_string();
    let url = postgres.url();
    for (home, words, negotiates) in [
        (&bare, &[&*url][..], true),
        (&with_variables, &["-negotiate"], true),
        // The revision of this form is fixed.
        (&with_variables, &[], false),
        (&bare, &["-config", &config, &url], false),
        (&bare, &["-negotiate=false", &url], false),
    ] {
        let (_program, mut stdio) = home.bare_stdio(words);
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let answer = stdio.call(&json!(1), "initialize", &params);
        let version = &answer["result"]["protocolVersion"];
        let expected = if negotiates {
            "2025-06-18"
        } else {
            "2024-11-05"
        };
        assert_eq!(version, expected, "{words:?}");
        let listed = stdio.call(&json!(2), "tools/list", &json!({})).to_string();
        assert_eq!(
            listed.contains("\"search_schema\""),
            negotiates,
            "{words:?}"
        );
    }
}
