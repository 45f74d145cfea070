//! Levels of the events that are written.

use tracing::{Metadata, metadata::LevelFilter};
use ziggurat_llm as llm;
use ziggurat_mcp as mcp;
use ziggurat_postgres as pg;

use crate::configuration::Logs;

/// Decides which events are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    logs: Logs,
    is_debug: bool,
}

/// The subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Calls of tools.
    Calls,
    /// Connections and statements.
    Database,
    /// Calls of model providers.
    Llm,
    /// Anything else.
    Other,
}

// === impl Levels ===

impl Levels {
    pub(super) fn new(logs: Logs, is_debug: bool) -> Self {
        Self { logs, is_debug }
    }

    /// Returns the most verbose level that any event can have.
    pub(super) fn most(&self) -> LevelFilter {
        let Logs {
            options,
            calls,
            database,
            llm,
        } = &self.logs;
        let ours = if self.is_debug {
            LevelFilter::DEBUG
        } else {
            LevelFilter::INFO
        };
        let own = [calls, database, llm].into_iter().flatten().copied();
        own.fold(ours.max(options.most()), LevelFilter::max)
    }

    pub(super) fn allow(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let logs = &self.logs;
        let level = |old, default| logs.options.level(target, old, default, |all| all);
        let most = match Subject::of(target) {
            Subject::Calls => level(logs.calls, LevelFilter::ERROR),
            Subject::Database => level(logs.database, LevelFilter::OFF),
            Subject::Llm => level(logs.llm, LevelFilter::OFF),
            Subject::Other if target.starts_with("ziggurat") => {
                // The flag overrides all variables.
                let flag = self.is_debug.then_some(LevelFilter::DEBUG);
                flag.unwrap_or_else(|| level(None, LevelFilter::INFO))
            }
            Subject::Other => {
                let quiet = |all: LevelFilter| all.min(LevelFilter::WARN);
                logs.options.level(target, None, LevelFilter::WARN, quiet)
            }
        };
        *metadata.level() <= most
    }

    pub(super) fn are_json(&self) -> bool {
        self.logs.options.is_json()
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
