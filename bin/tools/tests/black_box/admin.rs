//! Tests of the administration commands: their questions, output and effects.

mod files;
mod terminal;
mod tokens;
mod users;

use crate::support::{Home, Ran};

/// Creates a folder with a configuration of two databases; the tests connect to neither.
fn home() -> Home {
    let home = Home::new();
    home.configure("databases: [{name: main, user: reader}, {name: docs, user: reader}]");
    home
}

/// Asserts that a command succeeded without warnings, and returns its output.
fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "", "{ran:?}");
    ran.stdout
}

/// Asserts that a command failed with this message, and printed no success.
fn assert_failed(ran: &Ran, message: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.stderr, format!("ERROR: {message}\n"));
    assert!(!ran.stdout.contains("successfully"), "{ran:?}");
}

/// Returns the value after a label, on its own line.
fn value<'a>(text: &'a str, label: &str) -> &'a str {
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix(label))
        .unwrap_or_else(|| panic!("`{label}` in {text}"))
}
