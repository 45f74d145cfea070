//! Keys that say how to reach a database.

use secrecy::ExposeSecret as _;

use super::Case;

const READER: &str = "username: reader";

#[test]
fn a_password_comes_from_the_variable_that_the_file_names() {
    let case = Case::changed(&[(READER, "username: reader, password_env: DOCS")]);
    let case = case.env(&[
        ("DOCS", "swordfish"),
        ("PGPASSWORD", "trout"),
        ("OPENAI_API_KEY", "key"),
    ]);
    let database = case.pipeline().database;
    let mut passwords = database.passwords();
    let password = passwords.next().expect("a host");
    assert_eq!(password.expose_secret(), "swordfish");
}

#[test]
fn a_variable_that_is_not_set_and_a_second_password_are_problems() {
    for (keys, expected) in [
        (
            "password_env: DOCS",
            "database 'docs': the variable DOCS is not set",
        ),
        (
            "password: p, password_env: DOCS",
            "database 'docs': password, password_env and password_command exclude each other",
        ),
        (
            "password_command: [get]",
            "database 'docs': password_command needs sslmode require or stronger",
        ),
    ] {
        let case = Case::changed(&[(READER, &format!("username: reader, {keys}"))]);
        let error = case.error();
        assert!(error.contains(expected), "{error}");
    }
}
