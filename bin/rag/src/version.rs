//! Version and build information.

use std::fmt;

/// Placeholder for information that the build did not set.
const UNKNOWN: &str = "unknown";

/// Text that `-version` prints.
///
/// `ZIGGURAT_BUILD_TIME` and `ZIGGURAT_GIT_COMMIT` are set by the release build: reading the clock
/// and git here would make builds irreproducible.
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
