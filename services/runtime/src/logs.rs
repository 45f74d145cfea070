//! Logs of a program: `tracing-subscriber` with our filter and line formats.
//!
//! [`Options`] reads the variables and keys that all programs have for the log. Events are lines of
//! JSON, or of the [`Text`] of a program.
//!
//! ```
//! use ziggurat_runtime::{Environment, logs::{self, OlderVariables, Options, Plain, RawLog}};
//!
//! let environment = Environment::new([("RUST_LOG", "warn,hyper=debug")]);
//! let get = |name| environment.get(name);
//! let (options, _) = Options::read(get, OlderVariables::default(), &RawLog::default());
//!
//! let file = tempfile::NamedTempFile::new()?;
//! let log = logs::subscriber(&options, &[], Plain, file.reopen()?);
//! tracing::subscriber::with_default(log, || {
//!     tracing::warn!(path = "/a b", "request");
//!     tracing::info!("not written");
//! });
//! assert_eq!(std::fs::read_to_string(&file)?, "WARN request path=\"/a b\"\n");
//! # Ok::<_, std::io::Error>(())
//! ```

#[cfg(any(test, feature = "test-support"))]
pub mod captured;
mod event;
mod lines;
mod options;

use tracing::Subscriber;
use tracing_subscriber::{
    filter::Targets,
    fmt::{self, MakeWriter},
    layer::SubscriberExt as _,
};

use self::lines::Lines;

pub use self::{
    event::{Field, LogEvent, write_value},
    lines::{Plain, Text, level_name},
    options::{OlderVariables, Options, Part, RawLog},
};

/// Logs the events of the whole process. Returns false if it has a subscriber already, because
/// another program embeds this one; that subscriber stays.
pub fn start<W>(options: &Options, parts: &[Part], text: impl Text, writer: W) -> bool
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let log = subscriber(options, parts, text, writer);
    tracing::subscriber::set_global_default(log).is_ok()
}

/// Returns a subscriber that writes events with their spans.
pub fn subscriber<W>(
    options: &Options,
    parts: &[Part],
    text: impl Text,
    writer: W,
) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let is_json = options.is_json();
    filtered(options.targets(parts), Lines { is_json, text }, writer)
}

/// Returns a subscriber that passes each line to the writer at once, so that lines stay whole. A
/// failed write cannot be reported.
fn filtered<W>(filter: Targets, lines: Lines<impl Text>, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = fmt::layer()
        .event_format(lines)
        .with_writer(writer)
        .with_ansi(false);
    tracing_subscriber::registry().with(lines).with(filter)
}
