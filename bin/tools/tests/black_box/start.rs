//! Tests of the command line, of the checks before the start, and of the messages at the start.

use std::{
    fs,
    net::TcpListener,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::support::{Home, Postgres, Ran, output, records};

/// Time that clients allow for the start.
const PROMPT: Duration = Duration::from_secs(3);

fn bare(home: &Home, words: &[&str]) -> Ran {
    Ran::from(output(&mut home.bare(words)))
}

#[test]
fn the_usage_names_every_flag() {
    let home = Home::new();
    for word in ["-h", "-help", "--help"] {
        let ran = bare(&home, &[word]);
        assert_eq!((ran.code, &*ran.stdout), (Some(0), ""), "{word}");
        for flag in [
            "config",
            "http",
            "addr",
            "tls",
            "cert",
            "key",
            "chain",
            "no-auth",
            "debug",
            "token-file",
            "user-file",
            "db-host",
            "db-port",
            "db-name",
            "db-user",
            "db-password",
            "db-sslmode",
            "add-token",
            "list-tokens",
            "remove-token",
            "token-note",
            "token-expiry",
            "token-database",
            "add-user",
            "update-user",
            "delete-user",
            "list-users",
            "enable-user",
            "disable-user",
            "username",
            "password",
            "user-note",
        ] {
            let found = ran.stderr.contains(&format!("\n  -{flag} "));
            assert!(found, "{flag}: {}", ran.stderr);
        }
    }
}

#[test]
fn flags_end_at_the_first_word_that_is_not_a_flag() {
    let ran = bare(&Home::new(), &["-no-auth", "now", "-http"]);
    assert_eq!(ran.code, Some(1));
    let mut lines = ran.stderr.lines();
    assert_eq!(lines.next(), Some("Error: unexpected arguments: now -http"));
    assert!(lines.next().is_some_and(|hint| hint.contains("-help")));
}

#[test]
fn a_misspelt_scheme_is_named_and_nothing_behind_it_is_shown() {
    for (word, shown) in [
        ("postgre://u:swordfish@db/a", "postgre://…"),
        ("u:swordfish://db", "…"),
    ] {
        let ran = bare(&Home::new(), &[word]);
        let expected = format!(
            "Error: unexpected arguments: {shown}\nA connection URL starts with postgres:// or \
             postgresql://.\nRun 'ziggurat-tools -help' for the flags.\n"
        );
        assert_eq!((ran.code, &*ran.stderr), (Some(1), &*expected));
    }
    let ran = bare(&Home::new(), &["postgres://u@db/a?sslmod=require"]);
    assert!(ran.stderr.contains("did you mean sslmode?"), "{ran:?}");
}

#[test]
fn unknown_flags_and_invalid_values_exit_with_2_and_a_short_message() {
    for words in [
        &["-unknown"][..],
        &["-db=x"],
        &["-db-port=many"],
        &["-http=perhaps"],
        &["-addr"],
        &["---http"],
    ] {
        let ran = bare(&Home::new(), words);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{words:?}");
        assert!(ran.stderr.starts_with("Error: "), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("\nUsage: ziggurat-tools [flags] "),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("-help"), "{}", ran.stderr);
        assert!(ran.stderr.lines().count() <= 6, "{}", ran.stderr);
    }
}

#[test]
fn each_tls_option_needs_the_http_flag() {
    for words in [
        &["-tls"][..],
        &["-cert", "a"],
        &["--key=a"],
        &["-chain", "a"],
        &["-tls", "-http=false"],
    ] {
        let ran = bare(&Home::new(), words);
        assert_eq!(ran.code, Some(1), "{words:?}");
        let first = ran.stderr.lines().next();
        let expected = "ERROR: TLS options (-tls, -cert, -key, -chain) require -http flag";
        assert_eq!(first, Some(expected), "{words:?}");
        assert!(ran.stderr.contains("\n  -http "), "then the usage");
    }
}

#[test]
fn the_files_of_tls_are_looked_for_one_after_the_other() {
    let home = Home::new();
    for name in ["cert.pem", "key.pem"] {
        fs::write(home.file(name), "").expect("written");
    }
    for (cert, key, chain, message) in [
        ("no", "no", "no", "ERROR: Certificate file not found: no\n"),
        ("cert.pem", "no", "no", "ERROR: Key file not found: no\n"),
        (
            "cert.pem",
            "key.pem",
            "no",
            "ERROR: Chain file not found: no\n",
        ),
    ] {
        let flags = ["-http", "-no-auth", "-tls", "-cert", cert];
        let ran = bare(
            &home,
            &[&flags[..], &["-key", key, "-chain", chain]].concat(),
        );
        assert_eq!((ran.code, &*ran.stderr), (Some(1), message));
    }
}

#[test]
fn a_missing_token_file_prevents_the_start() {
    let home = Home::new();
    let ran = home.ran(&["-http"], "");
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    let lines: Vec<_> = ran.stderr.lines().collect();
    let path = home.tokens();
    assert_eq!(
        lines[0],
        format!("ERROR: Token file not found: {}", path.display())
    );
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].contains("ziggurat-tools -add-token"), "{lines:?}");
    assert!(lines[2].contains("-no-auth"), "{lines:?}");
}

#[test]
fn an_invalid_configuration_is_refused_with_a_fixed_message() {
    let home = Home::new();
    for (yaml, message) in [
        (
            "http: {tls: {enabled: true}}",
            "TLS requires HTTP mode to be enabled",
        ),
        (
            "databases: [{name: a, user: b}, {user: b}]",
            "database at index 1: name is required",
        ),
        (
            "databases: [{name: a, user: b}, {name: a, user: c}]",
            "duplicate database name: a",
        ),
        ("databases: [{name: a}]", "database 'a': user is required "),
        (
            "databases: [{name: a, user: b, sslcert: c}]",
            "database 'a': sslcert and sslkey must be set together",
        ),
    ] {
        home.configure(yaml);
        let ran = home.ran(&[], "");
        assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{yaml}");
        let expected = format!("ERROR: invalid configuration: {message}");
        assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
    }
}

#[test]
fn a_file_named_with_config_must_exist_and_be_readable() {
    let home = Home::new();
    let ran = bare(&home, &["-config", "none.yaml"]);
    assert_eq!(ran.code, Some(1));
    let expected = "ERROR: failed to load config file none.yaml: ";
    assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);

    home.configure("databases: [");
    let ran = home.ran(&[], "");
    assert_eq!(ran.code, Some(1));
    let path = home.file("ziggurat-tools.yaml");
    let expected = format!("ERROR: failed to load config file {}: ", path.display());
    assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
}

#[test]
fn an_address_in_use_prevents_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let ran = Home::new().ran(&["-http", "-no-auth", "-addr", &address], "");
    assert_eq!(ran.code, Some(1));
    let expected = format!(
        "ERROR: cannot listen on {address}: another program uses this address; stop it, or choose another address\n"
    );
    assert!(ran.stderr.ends_with(&expected), "{}", ran.stderr);
}

#[test]
fn flags_that_exclude_each_other_exit_with_2_and_a_hint() {
    for (words, message) in [
        (
            &["-add-token", "-list-tokens"][..],
            "-add-token and -list-tokens exclude each other",
        ),
        (&["-token-note", "x"], "-token-note goes with -add-token"),
    ] {
        let ran = bare(&Home::new(), words);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{words:?}");
        let expected = format!("Error: {message}\nRun 'ziggurat-tools -help' for the flags.\n");
        assert_eq!(ran.stderr, expected);
    }
    let ran = bare(&Home::new(), &["-db-port=many"]);
    let first = ran.stderr.lines().next().unwrap_or_default();
    assert!(
        first.ends_with("expected a whole number from 0 to 65535"),
        "{first}"
    );
}

#[test]
fn the_log_of_a_start_has_the_numbers_and_files_of_tokens_and_users() {
    let home = Home::new();
    home.configure("databases: [{name: main, user: reader}]");
    let tokens = ["one", "two"].map(|text| records::token(1, text, &[]));
    home.replace(&home.tokens(), &records::tokens(&tokens));
    let users = ["alice", "bob", "carol"].map(|name| records::user(name, &[]));
    home.replace(&home.users(), &records::users(&users));
    let (program, client) = home.serve(&[]);
    let log = program.log();
    let (tokens, users) = (home.tokens(), home.users());
    for expected in [
        format!("2 token(s) loaded from {}", tokens.display()),
        format!("3 user(s) loaded from {}", users.display()),
        format!("Watching {} for changes", tokens.display()),
        format!("Watching {} for changes", users.display()),
        "login rate limit: 10 failures per 15 minutes".to_owned(),
        "Authentication: ENABLED".to_owned(),
        format!("listening on http://{}", client.address()),
    ] {
        assert!(log.contains(&expected), "{expected}: {log}");
    }
}

#[test]
fn a_server_without_authentication_logs_a_warning() {
    let home = Home::new();
    let (program, client) = home.serve(&["-no-auth"]);
    let line = program.wait_for("Authentication: DISABLED (warning: server is not secured)");
    assert!(line.contains("WARN"), "{line}");
    assert_eq!(client.get("/health").status, 200);
    assert!(!program.log().contains("token file"), "{}", program.log());
}

#[test]
fn a_missing_user_file_means_no_users_until_it_is_created() {
    let home = Home::new();
    home.configure("databases: [{name: main, user: reader}]");
    home.replace(&home.tokens(), &records::tokens(&[]));
    let (program, client) = home.serve(&[]);
    let answer = client.login("alice", records::PASSWORD).json();
    assert_eq!(
        answer["error"]["data"],
        "authentication failed: invalid username or password"
    );
    let users = [records::user("alice", &[])];
    program.until_it_says("[AUTH] Reloaded ", || {
        home.replace(&home.users(), &records::users(&users));
    });
    client.logged_in("alice", records::PASSWORD);
}

#[test]
fn a_database_that_does_not_answer_does_not_delay_the_start() {
    let silence = TcpListener::bind("127.0.0.1:0").expect("a port");
    let home = Home::new();
    let port = silence.local_addr().expect("bound").port();
    home.configure(&format!(
        "databases: [{{name: main, host: 127.0.0.1, port: {port}, user: reader}}]"
    ));
    let start = Instant::now();
    let (_program, client) = home.serve(&["-no-auth"]);
    assert_eq!(client.get("/health").status, 200);
    client.call("initialize", &json!({}));
    assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());

    let start = Instant::now();
    let (_program, mut stdio) = home.stdio(&["-http=false"]);
    let answer = stdio.call(&json!(1), "initialize", &json!({}));
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());
}

#[test]
fn a_database_that_is_down_is_a_warning_and_used_once_it_is_up() {
    let (postgres, other) = (Postgres::new(), Postgres::new());
    let name = postgres.name();
    // A session cannot change this for its own database.
    let accept = |whether: bool| {
        other.run(&format!(
            "ALTER DATABASE \"{name}\" ALLOW_CONNECTIONS {whether}"
        ));
    };
    accept(false);
    let (program, client) = Home::with(&postgres).serve(&["-no-auth"]);
    let line = program.wait_for("metadata could not be loaded");
    let [(_, host), (_, port), ..] = postgres.environment();
    for expected in ["WARN", "main", &format!(" hosts={host}:{port}")] {
        assert!(line.contains(expected), "{expected}: {line}");
    }
    let (text, is_error) = client.tool("query_database", &json!({"query": "SELECT 1"}));
    assert!(is_error, "{text}");
    let expected = "Failed to get database client: failed to connect to database 'main': ";
    assert!(text.starts_with(expected), "{text}");
    accept(true);
    client.query("SELECT 1");
}

#[test]
fn databases_are_read_before_clients_are_accepted() {
    let postgres = Postgres::new();
    let mut home = Home::with(&postgres);
    home.token("main");
    home.set("ZIGGURAT_DB_LOG_LEVEL", "debug");
    let is_before = |log: &str, one: &str, other: &str| {
        let at = |text| {
            log.find(text)
                .unwrap_or_else(|| panic!("no {text} in {log}"))
        };
        at(one) < at(other)
    };
    for flags in [&[][..], &["-no-auth"]] {
        let (program, _client) = home.serve(flags);
        let log = program.log();
        assert!(is_before(&log, "catalogue read", "listening on"), "{log}");
    }
    let ran = home.ran(&["-http=false"], "");
    let log = &ran.stderr;
    assert!(is_before(log, "catalogue read", "Mode: STDIO"), "{log}");
}

#[test]
fn standard_output_has_only_protocol_messages() {
    let home = Home::new();
    let ran = home.ran(
        &["-debug"],
        "\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n",
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("Mode: STDIO"), "{}", ran.stderr);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,"),
        "{lines:?}"
    );
}
