//! Section 5, items 9 to 11, and details 5.3, 5.5: what an administrator types, and what comes
//! of it.

mod files;
mod tokens;
mod users;

use crate::support::{Home, Ran};

/// A place with two databases configured, none of which is ever connected to.
fn home() -> Home {
    let home = Home::new();
    home.configure("databases: [{name: main, user: reader}, {name: docs, user: reader}]");
    home
}

/// Asserts that a command did what it should without a word of complaint, and gives its words.
fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "", "{ran:?}");
    ran.stdout
}

/// Asserts that a command failed with this, and did not say that it succeeded.
fn assert_failed(ran: &Ran, message: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.stderr, format!("ERROR: {message}\n"));
    assert!(!ran.stdout.contains("successfully"), "{ran:?}");
}

/// What stands behind a label, on a line of its own.
fn value<'a>(text: &'a str, label: &str) -> &'a str {
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix(label))
        .unwrap_or_else(|| panic!("`{label}` in {text}"))
}
