//! The log on standard output.
//!
//! | Variable | Says | Otherwise |
//! | --- | --- | --- |
//! | `ZIGGURAT_LOG` | a level, or a list such as `info,ziggurat::database=debug` | the next |
//! | `LOG_LEVEL` | `error`, `warn`, `info`, `debug` or `trace` | the next |
//! | `RUST_LOG` | as `ZIGGURAT_LOG` | `log.level`, or `info` |
//! | `ZIGGURAT_LOG_FORMAT` | `text` for `key=value`, `json` for an object a line | the next |
//! | `LOG_FORMAT` | the same | `log.format`, or `text` |
//!
//! Libraries are heard from warnings on. What sqlx has to say is left out: it repeats notices of
//! PostgreSQL, and those quote what clients have written. No secret of this program is written,
//! whoever says it; and nothing that looks like one, in what others say.

mod line;
mod requests;

use std::{
    io::{self, Write as _},
    panic::{self, PanicHookInfo},
};

use tracing::{error, warn};
use ziggurat_runtime::{
    Environment,
    logs::{Log, RawLog},
};

use self::line::Lines;
use crate::secrets::Secrets;

pub(crate) use self::requests::RequestsLayer;

/// Takes everything that is logged from now on, once per process, panics included.
pub(crate) fn start(environment: &Environment, file: Option<&RawLog>, secrets: Secrets) {
    let file = file.cloned().unwrap_or_default();
    let (lines, warnings) = Lines::new(environment, &file, secrets);
    let log = Log::new(lines, |line: &str| {
        // In one piece, so that lines stay whole. Nobody can be told if it fails.
        let _ = io::stdout().write_all(line.as_bytes());
    });
    // Somebody else logs already, where the program is part of another one.
    if tracing::subscriber::set_global_default(log).is_ok() {
        panic::set_hook(Box::new(report));
    }
    for warning in warnings {
        warn!("{warning}");
    }
}

/// A panic may quote anything, so its words are those of a stranger.
fn report(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    let error = panic.payload_as_str().unwrap_or("not a text");
    error!(%error, place, "panic");
}
