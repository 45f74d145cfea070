//! What goes to standard error while the program runs: `LEVEL message key=value`, a line each.
//!
//! `LOG_LEVEL` says how much: `error`, `warn`, `info`, `debug` or `trace`; `info` otherwise.
//! Libraries are heard from warnings on, and what sqlx has to say is left out: it repeats what
//! databases say, and those quote what clients have written.

use std::io::{self, Write as _};

use tracing::{Metadata, metadata::LevelFilter};
use ziggurat_services::program::{
    Environment,
    logs::{Format, Log, Said},
};

struct Lines {
    ours: LevelFilter,
}

/// Takes everything that is logged from now on, once per process.
pub(crate) fn start(environment: &Environment) {
    let level = environment
        .get("LOG_LEVEL")
        .and_then(|text| text.parse().ok());
    let ours = level.unwrap_or(LevelFilter::INFO);
    let log = Log::new(Lines { ours }, |line: &str| {
        // In one piece, so that lines stay whole. Nobody can be told if it fails.
        let _ = io::stderr().write_all(line.as_bytes());
    });
    // Somebody else logs already, where the program is part of another one.
    tracing::subscriber::set_global_default(log).ok();
}

// === impl Lines ===

impl Format for Lines {
    fn most(&self) -> LevelFilter {
        self.ours.max(LevelFilter::WARN)
    }

    fn allows(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let most = if target.starts_with("ziggurat") {
            self.ours
        } else if target.starts_with("sqlx") {
            LevelFilter::OFF
        } else {
            LevelFilter::WARN
        };
        *metadata.level() <= most
    }

    fn line(&self, metadata: &Metadata<'_>, said: Said) -> String {
        let mut line = format!("{} ", metadata.level());
        said.push_message(&mut line);
        said.push_fields(&mut line);
        line
    }
}
