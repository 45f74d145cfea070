//! Logs of a program: receives events and writes one line for each.
//!
//! Spans are ignored: the events of a request share a request id. A [`Format`] selects and formats
//! the events; [`Options`] reads the variables and keys that all programs have for it.
//!
//! ```
//! use std::sync::Mutex;
//! use tracing::{Metadata, metadata::LevelFilter};
//! use ziggurat_runtime::logs::{Format, Log, LogEvent};
//!
//! struct Plain;
//!
//! impl Format for Plain {
//!     fn most(&self) -> LevelFilter {
//!         LevelFilter::INFO
//!     }
//!
//!     fn allows(&self, metadata: &Metadata<'_>) -> bool {
//!         *metadata.level() <= LevelFilter::INFO
//!     }
//!
//!     fn line(&self, metadata: &Metadata<'_>, said: LogEvent) -> String {
//!         let mut line = format!("{} ", metadata.level());
//!         said.push_message(&mut line);
//!         said.push_fields(&mut line);
//!         line
//!     }
//! }
//!
//! static LINES: Mutex<String> = Mutex::new(String::new());
//! let log = Log::new(Plain, |line: &str| LINES.lock().unwrap().push_str(line));
//! tracing::subscriber::with_default(log, || {
//!     tracing::info!(path = "/a b", "request");
//!     tracing::debug!("not written");
//! });
//! assert_eq!(*LINES.lock().unwrap(), "INFO request path=\"/a b\"\n");
//! ```

#[cfg(any(test, feature = "test-support"))]
pub mod captured;
mod event;
mod json;
mod options;
mod subscriber;

pub use self::{
    event::{Field, LogEvent, push_value},
    json::json_line,
    options::{Options, RawLog},
    subscriber::{Format, Log},
};
