//! Keys that say how to reach a database.

use std::time::Duration;

use ziggurat_postgres::database::Password;

use super::{databases, password};
use crate::configuration::fixture::Case;

/// Returns the error of an entry with these keys.
fn error(keys: &str) -> String {
    Case::new()
        .file(&format!("databases: [{{name: a, user: u, {keys}}}]"))
        .error()
}

#[test]
fn a_password_comes_from_the_variable_that_the_file_names() {
    let file = "databases: [{name: a, user: u, password_env: SHOP}, {name: b, user: u}]";
    let variables = [("SHOP", "swordfish"), ("PGPASSWORD", "trout")];
    let case = Case::new().file(file).env(&variables);
    let passwords: Vec<_> = databases(&case).iter().map(password).collect();
    assert_eq!(passwords, ["swordfish", "trout"]);
    let shown = format!("{:?}", case.configuration());
    assert!(!shown.contains("swordfish"), "{shown}");
}

#[test]
fn a_variable_that_is_not_set_ends_the_start() {
    let expected = "database 'a': the variable SHOP is not set";
    assert!(error("password_env: SHOP").contains(expected));
    let case = Case::new()
        .file("databases: [{name: a, user: u, password_env: SHOP}]")
        .env(&[("SHOP", ""), ("PGPASSWORD", "trout")]);
    assert!(case.error().contains(expected));
}

#[test]
fn an_entry_has_one_password() {
    let expected = "exclude each other";
    let case = Case::new()
        .file("databases: [{name: a, user: u, password: p, password_env: SHOP}]")
        .env(&[("SHOP", "swordfish")]);
    assert!(case.error().contains(expected), "{}", case.error());
    let case = Case::new()
        .file("databases: [{name: a, user: u, password_env: SHOP}]")
        .env(&[("SHOP", "swordfish"), ("ZIGGURAT_DB_PASSWORD", "trout")]);
    assert!(case.error().contains(expected), "{}", case.error());
}

#[test]
fn the_state_of_replicas_takes_its_password_from_a_variable() {
    let of = |url: &str| {
        Case::new()
            .file(&format!("state: {{url: \"{url}\", password_env: SHOP}}"))
            .env(&[("SHOP", "swordfish")])
    };
    let case = of("postgres://app@db.example/state");
    let state = case.configuration().state.expect("a state");
    let database = state.database().expect("valid");
    let mut passwords = database.passwords();
    let password = passwords.next().expect("a host");
    assert_eq!(secrecy::ExposeSecret::expose_secret(password), "swordfish");
    let error = of("postgres://app:trout@db.example/state").error();
    assert!(error.contains("database 'state': "), "{error}");
    assert!(error.contains("exclude each other"), "{error}");
    assert!(!error.contains("trout"), "{error}");
}

#[test]
fn the_state_of_replicas_is_reached_by_a_service() {
    let case = Case::new();
    let services = case.path("services");
    std::fs::write(&services, "[state]\nhost=db.example\nuser=app\nport=5433\n").expect("written");
    let of = |case: Case, keys: &str| {
        let services = services.display().to_string();
        case.file(&format!("state: {{{keys}}}"))
            .env(&[("PGSERVICEFILE", &*services), ("PGHOST", "other")])
    };
    let case = of(
        case,
        "service: state, connect_command: [nc, '{host}', '{port}']",
    );
    let state = case.configuration().state.expect("a state");
    let database = state.database().expect("valid");
    let settings = database.settings();
    assert_eq!(settings.all_hosts()[0].to_string(), "db.example:5433");
    // As in libpq, the database has the name of the role.
    assert_eq!((&*settings.user, &*settings.database), ("app", "app"));
    assert!(settings.connect_command.is_some());
    for (keys, expected) in [
        (
            "service: state, url: 'postgres://a@b/c'",
            "state.service: url and service exclude",
        ),
        (
            "service: none",
            "services: the service 'none' is not defined",
        ),
        (
            "service: state, password_command: [get]",
            "state.service: database 'state': password_command needs sslmode require",
        ),
    ] {
        let error = of(Case::new(), keys).error();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_password_comes_from_a_program_that_the_file_names() {
    let case = Case::new().file(
        "databases: [{name: a, user: u, password_command: [get, swordfish], password_lifetime: 15m}]",
    );
    let case = case.env(&[("PGPASSWORD", "trout")]);
    let entries = databases(&case);
    let settings = entries[0].database.settings();
    let Password::Command(command) = &settings.password else {
        panic!("{settings:?}");
    };
    assert_eq!(command.lifetime, Duration::from_mins(15));
    assert_eq!(command.timeout, Duration::from_secs(30));
    let shown = format!("{:?}", case.configuration());
    assert!(!shown.contains("swordfish"), "{shown}");
}

#[test]
fn a_program_is_checked_at_the_start() {
    for (keys, expected) in [
        (
            "host: db.example, password_command: [get]",
            "database 'a': password_command needs sslmode require or stronger",
        ),
        (
            "password_command: ['', get]",
            "database 'a': password_command must be a list of a program and its arguments",
        ),
        (
            "connect_command: [nc, '{host}', '{port}'], hosts: [{host: a}, {host: b}]",
            "database 'a': connect_command and hosts exclude each other",
        ),
        (
            "connect_command: ['']",
            "database 'a': connect_command must be a list of a program and its arguments",
        ),
        (
            "password_command: [get], password: p",
            "database 'a': password, password_env and password_command exclude each other",
        ),
        (
            "password_command: [get], password_lifetime: soon",
            "databases[0].password_lifetime: 'soon' is not a duration",
        ),
        (
            "password_command: get",
            "databases[0].password_command: must be a list",
        ),
    ] {
        let error = error(keys);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn no_variable_and_no_flag_names_a_program() {
    let case = Case::new().file("databases: [{name: a, user: u}]").env(&[
        ("ZIGGURAT_DB_PASSWORD_COMMAND", "get"),
        ("ZIGGURAT_DB_CONNECT_COMMAND", "nc"),
    ]);
    let entries = databases(&case);
    let settings = entries[0].database.settings();
    assert!(matches!(settings.password, Password::PasswordFile));
    assert_eq!(settings.connect_command, None);
}

#[test]
fn a_changed_program_is_another_database() {
    let of = |word: &str| {
        let file = format!("databases: [{{name: a, user: u, password_command: [get, {word}]}}]");
        databases(&Case::new().file(&file)).remove(0)
    };
    assert!(of("one").is_same(&of("one")));
    assert!(!of("one").is_same(&of("two")));
}
