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

mod line;
mod traffic;

use std::io;

use tracing::info;
use ziggurat_runtime::logs;

use self::line::BySubject;
use crate::configuration::Configuration;

pub(crate) use self::traffic::log_traffic;

/// Installs the log for the whole process.
pub(crate) fn start(configuration: &Configuration) {
    let Configuration { logs, debug, .. } = configuration;
    logs::start(
        &logs.options,
        &line::parts(logs, *debug),
        BySubject,
        io::stderr,
    );
}

/// Logs which optional features are enabled.
pub(crate) fn log_features(configuration: &Configuration) {
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
