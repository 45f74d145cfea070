//! Log on standard error.
//!
//! | Events | Format | Level |
//! | --- | --- | --- |
//! | tool calls | JSON: `timestamp`, `level`, `message`, `fields` | `ZIGGURAT_MCP_LOG_LEVEL` |
//! | connections and statements | `[DATABASE] message key=value` | `ZIGGURAT_DB_LOG_LEVEL` |
//! | calls of model providers | `[LLM] message key=value` | `ZIGGURAT_LLM_LOG_LEVEL` |
//! | all others of Ziggurat | `LEVEL message key=value` | info; with `-debug`, debug |
//! | libraries | the same | warnings |
//!
//! `ZIGGURAT_LOG` overrides these variables; they override `RUST_LOG` and `log.level` of the
//! configuration. With `ZIGGURAT_LOG_FORMAT=json` or `log.format` every line is a JSON object.
//!
//! Events of sqlx are left out: they repeat notices of PostgreSQL, which quote text of callers.

mod levels;
mod line;
mod traffic;

use std::io::{self, Write as _};

use tracing::info;
use ziggurat_runtime::logs::Log;

use self::levels::Levels;
use crate::configuration::Configuration;

pub(crate) use self::traffic::TrafficLayer;

/// Installs the subscriber for the whole process.
pub(crate) fn start(configuration: &Configuration) {
    let log = Log::new(
        Levels::new(configuration.logs.clone(), configuration.debug),
        |line: &str| {
            // One write per line, so that lines stay whole. A failed write cannot be reported.
            let _ = io::stderr().write_all(line.as_bytes());
        },
    );
    // If another program embeds this one, its subscriber stays.
    tracing::subscriber::set_global_default(log).ok();
}

/// Logs which optional features are enabled.
pub(crate) fn introduce(configuration: &Configuration) {
    let parts = [
        ("Embedding", configuration.embedding.is_enabled),
        ("LLM proxy", configuration.llm.is_enabled),
        ("Knowledge base", configuration.knowledgebase.is_enabled),
    ];
    for (part, is_enabled) in parts {
        let state = if is_enabled { "ENABLED" } else { "DISABLED" };
        info!("{part}: {state}");
    }
}
