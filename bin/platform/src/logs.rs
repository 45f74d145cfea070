//! The log on standard error: `LEVEL message key=value`, or a JSON object a line.
//!
//! The level comes from `ZIGGURAT_LOG`, then `LOG_LEVEL` (`error`, `warn`, `info`, `debug` or
//! `trace`), then `RUST_LOG` and `log.level` of the configuration; the default is `info`.
//! `ZIGGURAT_LOG_FORMAT` or `log.format` is `text` or `json`. Libraries log only warnings and
//! errors.

use std::io;

use tracing::warn;
use ziggurat_runtime::{
    Environment,
    logs::{self, OlderVariables, Options, Plain, RawLog},
};

/// Installs the log for the whole process.
pub(crate) fn start(environment: &Environment, file: &RawLog) {
    let older = OlderVariables {
        level: Some("LOG_LEVEL"),
        format: None,
    };
    let (options, warnings) = Options::read(|name| environment.get(name), older, file);
    logs::start(&options, &[], Plain, io::stderr);
    for warning in warnings {
        warn!("{warning}");
    }
}
