//! Log levels and format.

use tracing::metadata::LevelFilter;
use ziggurat_runtime::logs::{Older, Options, RawLog};

use super::{Invalid, environment::Reader};

/// Log level of each part of the server, and the format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Logs {
    /// Options that all programs have.
    pub(crate) options: Options,
    /// Calls of tools, one JSON line each: `ZIGGURAT_MCP_LOG_LEVEL`.
    pub(crate) calls: Option<LevelFilter>,
    /// Connections and statements: `ZIGGURAT_DB_LOG_LEVEL`.
    pub(crate) database: Option<LevelFilter>,
    /// Calls of language models: `ZIGGURAT_LLM_LOG_LEVEL`.
    pub(crate) llm: Option<LevelFilter>,
}

// === impl Logs ===

impl Logs {
    pub(super) fn read(reader: &mut Reader<'_>, file: &RawLog) -> Result<Self, Invalid> {
        const CALL: &[(&str, LevelFilter)] = &[
            ("debug", LevelFilter::DEBUG),
            ("info", LevelFilter::INFO),
            ("warn", LevelFilter::WARN),
            ("error", LevelFilter::ERROR),
        ];
        const DETAIL: &[(&str, LevelFilter)] = &[
            ("none", LevelFilter::OFF),
            ("info", LevelFilter::INFO),
            ("debug", LevelFilter::DEBUG),
            ("trace", LevelFilter::TRACE),
        ];
        if let Some((key, reason)) = file.problems().next() {
            return Err(Invalid::key(key, reason));
        }
        let (options, warnings) = Options::read(|name| reader.get(name), Older::default(), file);
        for warning in warnings {
            reader.warn(warning);
        }
        Ok(Self {
            options,
            calls: level(reader, "ZIGGURAT_MCP_LOG_LEVEL", CALL),
            database: level(reader, "ZIGGURAT_DB_LOG_LEVEL", DETAIL),
            llm: level(reader, "ZIGGURAT_LLM_LOG_LEVEL", DETAIL),
        })
    }
}

/// Parses a level, ignoring case; an unknown one is only a warning.
fn level(
    reader: &mut Reader<'_>,
    name: &str,
    levels: &[(&str, LevelFilter)],
) -> Option<LevelFilter> {
    let text = reader.text(name)?;
    let found = levels
        .iter()
        .find(|(name, _)| text.eq_ignore_ascii_case(name));
    if found.is_none() {
        let names: Vec<_> = levels.iter().map(|(name, _)| *name).collect();
        reader.warn(format!(
            "{name} is none of {} and is ignored",
            names.join(", ")
        ));
    }
    found.map(|(_, level)| *level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::fixture::around;

    #[test]
    fn levels_are_found_by_name_and_unknown_ones_ignored_with_a_warning() {
        let around = around(&[
            ("ZIGGURAT_MCP_LOG_LEVEL", "INFO"),
            ("ZIGGURAT_DB_LOG_LEVEL", "trace"),
            ("ZIGGURAT_LLM_LOG_LEVEL", "loud"),
        ]);
        let mut reader = Reader::new(&around.environment);
        let logs = Logs::read(&mut reader, &RawLog::default()).expect("good");
        assert_eq!(logs.calls, Some(LevelFilter::INFO));
        assert_eq!(logs.database, Some(LevelFilter::TRACE));
        assert_eq!(logs.llm, None);
        assert_eq!(
            reader.into_warnings(),
            ["ZIGGURAT_LLM_LOG_LEVEL is none of none, info, debug, trace and is ignored"]
        );
    }
}
