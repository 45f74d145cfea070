//! The log on standard error.
//!
//! | What | Looks like | How much |
//! | --- | --- | --- |
//! | calls of tools | a JSON object a line: `timestamp`, `level`, `message`, `fields` | `ZIGGURAT_MCP_LOG_LEVEL` |
//! | connections and statements | `[DATABASE] message key=value` | `ZIGGURAT_DB_LOG_LEVEL` |
//! | calls of providers of models | `[LLM] message key=value` | `ZIGGURAT_LLM_LOG_LEVEL` |
//! | everything else of ours | `LEVEL message key=value` | info; with `-debug`, debug |
//! | libraries | the same | warnings |
//!
//! `ZIGGURAT_LOG` comes before these variables, `RUST_LOG` and `log.level` of the configuration
//! after them; with `ZIGGURAT_LOG_FORMAT=json` or `log.format` every line is a JSON object.
//!
//! What sqlx has to say is left out: it repeats notices of PostgreSQL, and those quote what
//! callers have written.

mod levels;
mod line;
mod traffic;

use std::io::{self, Write as _};

use tracing::info;
use ziggurat_runtime::logs::Log;

use self::levels::Levels;
use crate::configuration::Configuration;

pub(crate) use self::traffic::TrafficLayer;

/// Takes everything that is logged from now on, once per process.
pub(crate) fn start(configuration: &Configuration) {
    let log = Log::new(
        Levels::new(configuration.logs.clone(), configuration.debug),
        |line: &str| {
            // In one piece, so that lines stay whole. A failure cannot be reported anywhere.
            let _ = io::stderr().write_all(line.as_bytes());
        },
    );
    // Somebody else logs already, where the program is part of another one.
    tracing::subscriber::set_global_default(log).ok();
}

/// Says which of the larger things are there.
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
