//! Which build this is.

use std::fmt;

/// What is not known of a build that nobody told.
const UNKNOWN: &str = "unknown";

/// What `-version` prints.
///
/// Time and commit come from `ZIGGURAT_BUILD_TIME` and `ZIGGURAT_GIT_COMMIT` of whoever builds a
/// release: asking the clock and git while building would make no two builds the same.
pub(crate) struct Version;

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = option_env!("ZIGGURAT_BUILD_TIME").unwrap_or(UNKNOWN);
        let commit = option_env!("ZIGGURAT_GIT_COMMIT").unwrap_or(UNKNOWN);
        writeln!(f, "Ziggurat RAG server")?;
        writeln!(f, "  Version:    {}", env!("CARGO_PKG_VERSION"))?;
        writeln!(f, "  Build Time: {time}")?;
        writeln!(f, "  Git Commit: {commit}")
    }
}
