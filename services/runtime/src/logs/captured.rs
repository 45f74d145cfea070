//! Captures the log of a test on its own thread.

use std::{
    io, mem, str,
    sync::{Arc, LazyLock, Mutex},
};

use tracing::{
    Dispatch, Subscriber,
    metadata::LevelFilter,
    subscriber::{self, DefaultGuard, NoSubscriber},
};
use tracing_subscriber::filter::Targets;

use crate::{
    lock,
    logs::{Lines, Options, Part, Plain, Text, filtered},
};

/// The warnings and errors since the last call.
#[derive(Clone, Debug, Default)]
pub struct Captured(CapturedLog);

/// The lines of a test at every level, each after its level.
#[derive(Clone, Debug, Default)]
pub struct CapturedLog(Arc<Mutex<String>>);

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
        let ours = Targets::new().with_target("ziggurat", level);
        let lines = Lines {
            is_json: false,
            text: Plain,
        };
        set(filtered(ours, lines, self.writer()))
    }

    /// Captures the lines of a program until the guard is dropped.
    #[must_use]
    pub fn capture_as(&self, options: &Options, parts: &[Part], text: impl Text) -> DefaultGuard {
        set(super::subscriber(options, parts, text, self.writer()))
    }

    fn writer(&self) -> impl Fn() -> Self + Send + Sync + 'static {
        let log = self.clone();
        move || log.clone()
    }

    /// Takes the text that was logged since the last call.
    #[must_use]
    pub fn take(&self) -> String {
        mem::take(&mut *lock(&self.0))
    }
}

impl io::Write for CapturedLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = str::from_utf8(line).map_err(io::Error::other)?;
        let mut all = lock(&self.0);
        all.push_str(text);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn set(subscriber: impl Subscriber + Send + Sync + 'static) -> DefaultGuard {
    LazyLock::force(&SECOND);
    subscriber::set_default(subscriber)
}
