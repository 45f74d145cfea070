//! Tests of reloading the configuration on SIGHUP.

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Client, Home, Postgres, Program, records, until};

/// Returns the name of the database that a client is connected to.
fn connected_to(client: &Client) -> String {
    let text = client.query("SELECT current_database() AS name");
    text.lines().last().unwrap_or_default().to_owned()
}

fn databases(entries: &[String]) -> String {
    format!("databases:\n{}", entries.concat())
}

/// Writes this configuration, and makes the program reload it.
fn reload(home: &Home, program: &Program, yaml: &str) {
    program.until_it_says("configuration reloaded from", || {
        home.configure(yaml);
        program.signal(Signal::HUP);
    });
}

fn connections(postgres: &Postgres) -> i64 {
    postgres.count(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> \
         pg_backend_pid() AND backend_type = 'client backend'",
    )
}

#[test]
fn a_database_that_was_added_is_available() {
    let (one, two) = (Postgres::new(), Postgres::new());
    let home = Home::new();
    home.configure(&databases(&[one.entry("one")]));
    let bound = records::token(1, "bound", &["database: two"]);
    home.replace(&home.tokens(), &records::tokens(&[bound]));
    let (program, client) = home.serve(&[]);
    let client = client.bearing("bound");
    let (text, is_error) = client.tool("query_database", &json!({"query": "SELECT 1"}));
    assert!(is_error, "{text}");
    let expected = "Failed to get database client: no database connection configured for this \
                    token: ";
    assert!(text.starts_with(expected), "{text}");

    reload(
        &home,
        &program,
        &databases(&[one.entry("one"), two.entry("two")]),
    );
    assert_eq!(connected_to(&client), two.name());
}

#[test]
fn connections_to_a_database_that_was_removed_are_closed() {
    let (one, two) = (Postgres::new(), Postgres::new());
    let home = Home::new();
    home.configure(&databases(&[one.entry("one"), two.entry("two")]));
    let bound = records::token(1, "bound", &["database: one"]);
    home.replace(&home.tokens(), &records::tokens(&[bound]));
    home.replace(
        &home.users(),
        &records::users(&[records::user("alice", &[])]),
    );
    let (program, client) = home.serve(&[]);
    let (bound, alice) = (
        client.bearing("bound"),
        client.logged_in("alice", records::PASSWORD),
    );
    assert_eq!(connected_to(&bound), one.name());
    assert_eq!(connected_to(&alice), one.name());
    assert!(connections(&one) > 0);

    reload(&home, &program, &databases(&[two.entry("two")]));
    until("its connections close", || connections(&one) == 0);
    assert_eq!(connected_to(&alice), two.name(), "the default one now");
    let (text, is_error) = bound.tool("query_database", &json!({"query": "SELECT 1"}));
    assert!(is_error, "a bound token stays bound: {text}");
}

#[test]
fn a_database_that_was_changed_gets_new_connections() {
    let (one, two) = (Postgres::new(), Postgres::new());
    let home = Home::with(&one);
    let (program, client) = home.serve(&["-no-auth"]);
    assert_eq!(connected_to(&client), one.name());
    reload(&home, &program, &databases(&[two.entry("main")]));
    assert_eq!(connected_to(&client), two.name());
    until("the old connections close", || connections(&one) == 0);
}

#[test]
fn a_database_that_has_not_changed_keeps_its_connections() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (program, client) = home.serve(&["-no-auth"]);
    let process = |client: &Client| client.query("SELECT pg_backend_pid()");
    let before = process(&client);
    let entries = [postgres.entry("main"), postgres.entry("another")];
    reload(&home, &program, &databases(&entries));
    assert_eq!(process(&client), before);
}

#[test]
fn an_invalid_file_changes_nothing() {
    let (one, two) = (Postgres::new(), Postgres::new());
    let home = Home::with(&one);
    let (program, client) = home.serve(&["-no-auth"]);
    let invalid = databases(&[two.entry("a"), two.entry("a")]);
    for (yaml, reason) in [
        ("databases: [", "ziggurat-tools.yaml: "),
        (&invalid, ": duplicate database name: a"),
    ] {
        let line = program.until_it_says("the previous one stays", || {
            home.configure(yaml);
            program.signal(Signal::HUP);
        });
        assert!(line.contains("ERROR") && line.contains(reason), "{line}");
        assert_eq!(connected_to(&client), one.name());
    }
    reload(&home, &program, &databases(&[two.entry("main")]));
    assert_eq!(connected_to(&client), two.name());
}

#[test]
fn a_change_that_needs_a_restart_is_a_warning_and_not_applied() {
    let home = Home::new();
    home.replace(&home.tokens(), &records::tokens(&[]));
    let auth = "auth: {rate_limit_max_attempts: 5}";
    home.configure(&format!("http: {{{auth}}}"));
    let (program, client) = home.serve(&[]);
    reload(
        &home,
        &program,
        "http: {auth: {enabled: false}, allowed_origins: [\"https://example.org\"]}",
    );
    for section in ["http.auth", "http.allowed_origins"] {
        let line = program.wait_for(&format!(
            "{section} has changed; restart the server to apply \
             it"
        ));
        assert!(line.contains("WARN"), "{line}");
    }
    assert_eq!(client.post("/mcp/v1", "{}").status, 401, "still on");
}

#[test]
fn a_changed_address_needs_a_restart_unless_a_flag_overrides_it() {
    let home = Home::new();
    home.configure("http: {enabled: true, address: \"127.0.0.1:0\"}");
    let program = Program::start(&mut home.command(&["-no-auth"]));
    program.wait_for("listening on ");
    reload(
        &home,
        &program,
        "http: {enabled: true, address: \"127.0.0.1:1\"}",
    );
    program.wait_for("http.address has changed; restart the server to apply it");

    let (program, client) = home.serve(&["-no-auth"]);
    reload(
        &home,
        &program,
        "http: {enabled: false, address: \"127.0.0.1:2\"}",
    );
    assert!(!program.log().contains("restart"), "{}", program.log());
    assert_eq!(client.get("/health").status, 200);
}

#[test]
fn flags_still_apply_after_a_reload() {
    let (one, two) = (Postgres::new(), Postgres::new());
    let home = Home::with(&one);
    let (program, client) = home.serve(&["-no-auth", "-db-name", two.name()]);
    assert_eq!(connected_to(&client), two.name());
    let more = databases(&[one.entry("main"), one.entry("another")]);
    reload(
        &home,
        &program,
        &format!("http: {{enabled: false}}\n{more}"),
    );
    assert_eq!(connected_to(&client), two.name());
    assert_eq!(
        client.call("ping", &json!({}))["error"],
        json!(null),
        "nobody signs in"
    );
}

#[test]
fn a_hangup_right_after_the_start_is_handled() {
    let home = Home::new();
    for _ in 0..10 {
        let (program, client) = home.serve(&["-no-auth"]);
        program.signal(Signal::HUP);
        program.wait_for("configuration reloaded from");
        assert_eq!(client.get("/health").status, 200);
    }
}
