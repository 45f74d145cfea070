//! Captures what a test has logged on its own thread.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use tracing::{
    Metadata,
    metadata::LevelFilter,
    subscriber::{self, DefaultGuard},
};

use super::{Format, Log, Said};

/// The warnings and errors since the last look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured(Arc<Mutex<String>>);

struct Warnings;

impl Captured {
    /// Captures until the guard is dropped.
    pub(crate) fn start() -> (Self, DefaultGuard) {
        let captured = Self::default();
        let text = Arc::clone(&captured.0);
        let log = Log::new(Warnings, move |line: &str| {
            let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
            text.push_str(line);
        });
        (captured, subscriber::set_default(log))
    }

    /// Takes the lines that were logged since the last call.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        text.lines().map(str::to_owned).collect()
    }
}

impl Format for Warnings {
    fn most(&self) -> LevelFilter {
        LevelFilter::WARN
    }

    fn allows(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= LevelFilter::WARN
    }

    fn line(&self, _: &Metadata<'_>, said: Said) -> String {
        let mut line = String::new();
        said.push_message(&mut line);
        said.push_fields(&mut line);
        line
    }
}
