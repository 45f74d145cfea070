//! The log on standard output.
//!
//! | Variable | Value | If not set |
//! | --- | --- | --- |
//! | `ZIGGURAT_LOG` | a level, or a list such as `info,ziggurat::database=debug` | the next |
//! | `LOG_LEVEL` | `error`, `warn`, `info`, `debug` or `trace` | the next |
//! | `RUST_LOG` | as `ZIGGURAT_LOG` | `log.level`, or `info` |
//! | `ZIGGURAT_LOG_FORMAT` | `text` for `key=value`, `json` for an object a line | the next |
//! | `LOG_FORMAT` | the same | `log.format`, or `text` |
//!
//! Libraries are logged from warnings on. sqlx is not logged, because it repeats notices of
//! PostgreSQL, which quote input of clients. Secrets of this program are never logged, and texts of
//! libraries are also redacted where they look like secrets.

mod line;
mod requests;

use std::{
    io,
    panic::{self, PanicHookInfo},
};

use tracing::{error, warn};
use ziggurat_runtime::{
    Environment,
    logs::{self, RawLog},
};

use self::line::KeyValue;
use crate::secrets::Secrets;

pub(crate) use self::requests::log_request;

/// Starts the log of this process, including panics: on standard output, or on standard error where
/// calls and answers are on the other streams.
pub(crate) fn start(
    environment: &Environment,
    file: Option<&RawLog>,
    secrets: Secrets,
    is_stdio: bool,
) {
    let file = file.cloned().unwrap_or_default();
    let (options, warnings) = line::options(environment, &file);
    // A program that embeds this one may have set its own subscriber.
    let (parts, text) = (&line::PARTS, KeyValue(secrets));
    let has_started = if is_stdio {
        logs::start(&options, parts, text, io::stderr)
    } else {
        logs::start(&options, parts, text, io::stdout)
    };
    if has_started {
        panic::set_hook(Box::new(report));
    }
    for warning in warnings {
        warn!("{warning}");
    }
}

/// Logs warnings and errors of a command to standard error, because its output is on the standard
/// output.
pub(crate) fn start_for_command(environment: &Environment, secrets: Secrets) {
    let file = RawLog {
        level: Some("warn".to_owned()),
        ..RawLog::default()
    };
    let (options, _) = line::options(environment, &file);
    logs::start(&options, &line::PARTS, KeyValue(secrets), io::stderr);
}

/// Logs a panic. Its message is redacted like a message of a library, because it may quote any
/// text.
fn report(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    let error = panic.payload_as_str().unwrap_or("not a text");
    error!(%error, place, "panic");
}
