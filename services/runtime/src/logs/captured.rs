//! Captures the log of a test on its own thread.

use std::{
    mem,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use tracing::{
    Dispatch, Metadata,
    metadata::LevelFilter,
    subscriber::{self, DefaultGuard, NoSubscriber},
};

use super::{Format, Log, LogEvent};

/// The warnings and errors since the last call.
#[derive(Clone, Debug, Default)]
pub struct Captured(CapturedLog);

/// The lines of a test at every level, each after its level.
#[derive(Clone, Debug, Default)]
pub struct CapturedLog(Arc<Mutex<String>>);

struct UpTo(LevelFilter);

/// A second subscriber that lives as long as the tests. With only one, `tracing` disables an event
/// for all threads if it first occurs on a thread without a subscriber.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));

// === impl Captured ===

impl Captured {
    /// Captures until the guard is dropped.
    #[must_use]
    pub fn start() -> (Self, DefaultGuard) {
        let captured = Self::default();
        let guard = captured.0.capture_up_to(LevelFilter::WARN);
        (captured, guard)
    }

    /// Takes the lines that were logged since the last call, without their levels.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let text = self.0.take();
        let line = |line: &str| line.split_once(' ').map_or("", |(_, rest)| rest).to_owned();
        text.lines().map(line).collect()
    }
}

// === impl CapturedLog ===

impl CapturedLog {
    /// Captures until the guard is dropped.
    #[must_use]
    pub fn capture(&self) -> DefaultGuard {
        self.capture_up_to(LevelFilter::TRACE)
    }

    fn capture_up_to(&self, level: LevelFilter) -> DefaultGuard {
        LazyLock::force(&SECOND);
        let text = Arc::clone(&self.0);
        let log = Log::new(UpTo(level), move |line: &str| {
            let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
            text.push_str(line);
        });
        subscriber::set_default(log)
    }

    /// Takes what was logged since the last call.
    pub fn take(&self) -> String {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

// === impl UpTo ===

impl Format for UpTo {
    fn most(&self) -> LevelFilter {
        self.0
    }

    fn allows(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.0 && metadata.target().starts_with("ziggurat")
    }

    fn line(&self, metadata: &Metadata<'_>, said: LogEvent) -> String {
        let mut line = format!("{} ", metadata.level());
        said.push_message(&mut line);
        said.push_fields(&mut line);
        line
    }
}
