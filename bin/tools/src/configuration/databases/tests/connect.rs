//! Keys that say how to reach a database.

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
