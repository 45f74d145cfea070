//! Takes events and writes them, a line each.
//!
//! There are no spans here: what belongs together has a request id.

use std::fmt;

use tracing::{
    Event, Metadata, Subscriber,
    metadata::LevelFilter,
    span::{Attributes, Id, Record},
};

use super::{levels::Levels, line};

/// Writes what its levels allow.
pub(super) struct Log<W> {
    levels: Levels,
    write: W,
}

// === impl Log ===

impl<W> Log<W>
where
    W: Fn(&str) + 'static,
{
    pub(super) fn new(levels: Levels, write: W) -> Self {
        Self { levels, write }
    }
}

impl<W> Subscriber for Log<W>
where
    W: Fn(&str) + 'static,
{
    /// Asked once for each place an event may come from: what is off costs a look at a flag.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.is_span() && self.levels.allow(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.levels.most())
    }

    fn event(&self, event: &Event<'_>) {
        (self.write)(&line::of(event));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl<W> fmt::Debug for Log<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("levels", &self.levels)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::{Level, debug, enabled, error, info, trace, warn};
    use ziggurat_services::{mcp, pg};

    use super::*;
    use crate::configuration::{CallLevel, DetailLevel, Logs};

    /// What is written of all that happens meanwhile.
    fn written(logs: Logs, is_debug: bool, happens: impl Fn()) -> String {
        let lines = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&lines);
        let log = Log::new(Levels::new(logs, is_debug), move |line: &str| {
            lines.lock().expect("whole").push_str(line);
        });
        tracing::subscriber::with_default(log, happens);
        written.lock().expect("whole").clone()
    }

    fn something_of_everything() {
        error!(target: mcp::LOG_TARGET, "call error");
        warn!(target: mcp::LOG_TARGET, "call warn");
        info!(target: mcp::LOG_TARGET, "call info");
        debug!(target: mcp::LOG_TARGET, "call debug");
        info!(target: pg::LOG_TARGET, "base info");
        debug!(target: pg::LOG_TARGET, "base debug");
        trace!(target: pg::LOG_TARGET, "base trace");
        warn!(target: "sqlx::postgres::notice", "secret notice");
        error!(target: "sqlx::query", "secret query");
        info!(target: "hyper", "theirs info");
        warn!(target: "hyper", "theirs warn");
        info!(target: "ziggurat_services::accounts", "[AUTH] ours");
        info!("ours info");
        debug!("ours debug");
        trace!("ours trace");
    }

    #[test]
    fn whoever_asks_whether_it_would_be_written_is_told_the_same() {
        let logs = Logs {
            database: DetailLevel::Debug,
            ..Logs::default()
        };
        let written = written(logs, false, || {
            assert!(enabled!(target: pg::LOG_TARGET, Level::DEBUG));
            assert!(!enabled!(target: pg::LOG_TARGET, Level::TRACE));
            assert!(!enabled!(target: mcp::LOG_TARGET, Level::WARN));
        });
        assert_eq!(written, "");
    }

    #[test]
    fn levels_say_what_is_written_of_what() {
        let logs = |mcp, database| Logs {
            mcp,
            database,
            ..Logs::default()
        };
        let cases = [
            (
                logs(CallLevel::Error, DetailLevel::None),
                false,
                "call error|theirs warn|[AUTH] ours|ours info",
            ),
            (
                logs(CallLevel::Warn, DetailLevel::Info),
                false,
                "call error|call warn|base info|theirs warn|[AUTH] ours|ours info",
            ),
            (
                logs(CallLevel::Info, DetailLevel::Debug),
                false,
                "call error|call warn|call info|base info|base debug|theirs warn|[AUTH] ours|\
                 ours info",
            ),
            (
                logs(CallLevel::Debug, DetailLevel::Trace),
                true,
                "call error|call warn|call info|call debug|base info|base debug|base trace|\
                 theirs warn|[AUTH] ours|ours info|ours debug",
            ),
        ];
        for (logs, is_debug, expected) in cases {
            let written = written(logs, is_debug, something_of_everything);
            let expected: Vec<_> = expected.split('|').collect();
            assert_eq!(written.lines().count(), expected.len(), "{written}");
            for (line, expected) in written.lines().zip(expected) {
                assert!(line.contains(expected), "{line} is not {expected}");
            }
        }
    }
}
