//! The log on standard error: `LEVEL message key=value`, or a JSON object a line.
//!
//! The level comes from `ZIGGURAT_LOG`, then `LOG_LEVEL` (`error`, `warn`, `info`, `debug` or
//! `trace`), then `RUST_LOG` and `log.level` of the configuration; the default is `info`.
//! `ZIGGURAT_LOG_FORMAT` or `log.format` is `text` or `json`. Libraries log only warnings and
//! errors.

use std::io::{self, Write as _};

use tracing::{Metadata, metadata::LevelFilter, warn};
use ziggurat_runtime::{
    Environment,
    logs::{Format, Log, LogEvent, Options, RawLog, json_line},
};

struct Lines {
    options: Options,
    /// `LOG_LEVEL`.
    level: Option<LevelFilter>,
}

/// Installs the log for the whole process. Can be called once.
pub(crate) fn start(environment: &Environment, file: &RawLog) {
    let mut warnings = Vec::new();
    let options = Options::read(|name| environment.get(name), None, file, &mut warnings);
    let level = environment.get("LOG_LEVEL").map(Options::named_level);
    let level = level.and_then(|level| {
        level
            .map_err(|problem| warnings.push(format!("LOG_LEVEL is ignored: it {problem}")))
            .ok()
    });
    let log = Log::new(Lines { options, level }, |line: &str| {
        // One write per line, so that lines stay whole. A failure cannot be reported.
        let _ = io::stderr().write_all(line.as_bytes());
    });
    // Fails if the program is embedded in another one that has its own log.
    tracing::subscriber::set_global_default(log).ok();
    for warning in warnings {
        warn!("{warning}");
    }
}

// === impl Lines ===

impl Format for Lines {
    fn most(&self) -> LevelFilter {
        let own = self.level.unwrap_or(LevelFilter::INFO);
        own.max(LevelFilter::WARN).max(self.options.most())
    }

    fn allows(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let is_ours = target.starts_with("ziggurat");
        let of = |all: LevelFilter| {
            if is_ours {
                all
            } else {
                all.min(LevelFilter::WARN)
            }
        };
        *metadata.level()
            <= self
                .options
                .level(target, self.level, LevelFilter::INFO, of)
    }

    fn line(&self, metadata: &Metadata<'_>, said: LogEvent) -> String {
        if self.options.is_json() {
            return json_line(metadata, &said);
        }
        let mut line = format!("{} ", metadata.level());
        said.push_message(&mut line);
        said.push_fields(&mut line);
        line
    }
}
