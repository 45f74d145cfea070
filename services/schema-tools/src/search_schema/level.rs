//! Amounts of text.

use serde::Serialize;

/// Amount of text about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    Names,
    Summary,
    Full,
}
