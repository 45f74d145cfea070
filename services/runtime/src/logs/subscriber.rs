//! Subscriber that receives events and writes them.

use std::fmt;

use tracing::{
    Event, Metadata, Subscriber,
    metadata::LevelFilter,
    span::{Attributes, Id, Record},
};

use super::LogEvent;

/// Selects and formats the events.
pub trait Format: 'static {
    /// Returns the maximum level of the events to write.
    fn most(&self) -> LevelFilter;

    /// Returns whether events of a callsite are written; called once per callsite.
    fn allows(&self, metadata: &Metadata<'_>) -> bool;

    /// Formats an event, without a line break.
    fn line(&self, metadata: &Metadata<'_>, said: LogEvent) -> String;
}

/// Writes the events that its format allows.
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
    /// Passes complete lines to `write`, each with its line break.
    pub fn new(format: F, write: W) -> Self {
        Self { format, write }
    }
}

impl<F, W> Subscriber for Log<F, W>
where
    F: Format,
    W: Fn(&str) + 'static,
{
    /// Called once per callsite, so a disabled event costs only a check of a flag.
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
