//! Errors as text.

use std::{error::Error, fmt::Write as _, iter};

/// Joins an error and its causes with colons.
///
/// ```
/// let error = "x".parse::<u8>().expect_err("no number");
/// assert_eq!(ziggurat_runtime::causes(&error), "invalid digit found in string");
/// ```
#[must_use]
pub fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in iter::successors(error.source(), |&cause| cause.source()) {
        let _ = write!(text, ": {cause}");
    }
    text
}
