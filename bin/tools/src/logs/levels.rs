//! Which events are written.

use tracing::{Metadata, metadata::LevelFilter};
use ziggurat_services::{llm, mcp, pg};

use crate::configuration::{CallLevel, DetailLevel, Logs};

/// How much is written of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    calls: LevelFilter,
    database: LevelFilter,
    llm: LevelFilter,
    ours: LevelFilter,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Calls of tools.
    Calls,
    /// What goes on between the server and PostgreSQL.
    Database,
    /// What goes on between the server and providers of models.
    Llm,
    /// Anything else.
    Other,
}

// === impl Levels ===

impl Levels {
    pub(super) fn new(logs: Logs, debug: bool) -> Self {
        Self {
            calls: match logs.mcp {
                CallLevel::Error => LevelFilter::ERROR,
                CallLevel::Warn => LevelFilter::WARN,
                CallLevel::Info => LevelFilter::INFO,
                CallLevel::Debug => LevelFilter::DEBUG,
            },
            database: detail(logs.database),
            llm: detail(logs.llm),
            ours: if debug {
                LevelFilter::DEBUG
            } else {
                LevelFilter::INFO
            },
        }
    }

    /// What no event that is written goes beyond.
    pub(super) fn most(self) -> LevelFilter {
        self.calls.max(self.database).max(self.llm).max(self.ours)
    }

    pub(super) fn allow(self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let most = match Subject::of(target) {
            Subject::Calls => self.calls,
            Subject::Database => self.database,
            Subject::Llm => self.llm,
            Subject::Other if target.starts_with("ziggurat") => self.ours,
            // Notices of PostgreSQL quote what callers have written.
            Subject::Other if target.starts_with("sqlx") => LevelFilter::OFF,
            Subject::Other => LevelFilter::WARN,
        };
        *metadata.level() <= most
    }
}

// === impl Subject ===

impl Subject {
    pub(super) fn of(target: &str) -> Self {
        match target {
            mcp::LOG_TARGET => Self::Calls,
            pg::LOG_TARGET => Self::Database,
            llm::LOG_TARGET => Self::Llm,
            _ => Self::Other,
        }
    }
}

fn detail(level: DetailLevel) -> LevelFilter {
    match level {
        DetailLevel::None => LevelFilter::OFF,
        DetailLevel::Info => LevelFilter::INFO,
        DetailLevel::Debug => LevelFilter::DEBUG,
        DetailLevel::Trace => LevelFilter::TRACE,
    }
}
