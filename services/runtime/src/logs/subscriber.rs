//! Takes events and writes them.

use std::fmt;

use tracing::{
    Event, Metadata, Subscriber,
    metadata::LevelFilter,
    span::{Attributes, Id, Record},
};

use super::LogEvent;

/// Which events are written, and how.
pub trait Format: 'static {
    /// What no event that is written goes beyond.
    fn most(&self) -> LevelFilter;

    /// Whether events of a place are written; asked once for each place.
    fn allows(&self, metadata: &Metadata<'_>) -> bool;

    /// The line of an event, without its line break.
    fn line(&self, metadata: &Metadata<'_>, said: LogEvent) -> String;
}

/// Writes what its format allows.
pub struct Log<F, W> {
    format: F,
    write: W,
}

// === impl Log ===

impl<F, W> Log<F, W>
where
    F: Format,
    W: Fn(&str) + 'static,
{
    /// Gives lines to `write`, each in one piece with its line break.
    pub fn new(format: F, write: W) -> Self {
        Self { format, write }
    }
}

impl<F, W> Subscriber for Log<F, W>
where
    F: Format,
    W: Fn(&str) + 'static,
{
    /// Asked once for each place an event may come from: what is off costs a look at a flag.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.is_span() && self.format.allows(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.format.most())
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = self.format.line(event.metadata(), LogEvent::of(event));
        line.push('\n');
        (self.write)(&line);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl<F, W> fmt::Debug for Log<F, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}
