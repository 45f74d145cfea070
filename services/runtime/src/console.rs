//! Standard output and standard error.

use std::io::{self, Write as _};

/// Writes to standard output.
///
/// # Errors
/// Fails if standard output is closed or full.
pub fn print(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())
}

/// Writes to standard error. A failure is ignored, because there is no other place to report it.
pub fn print_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes warnings to standard error, one per line.
pub fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        print_error(&format!("warning: {warning}\n"));
    }
}
