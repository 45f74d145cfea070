//! Log levels and format.

use tracing::metadata::LevelFilter;
use ziggurat_runtime::{
    config::Section,
    logs::{OlderVariables, Options},
};

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
    /// Leaves the texts of statements out of the list of those that run:
    /// `log.activity_statements: false`.
    pub(crate) hides_statements: bool,
}

// === impl Logs ===

impl Logs {
    pub(super) fn read(file: &Section<'_>) -> Self {
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
        let variable = |name| file.variable(name);
        let (options, warnings) = Options::read(variable, OlderVariables::default(), &file.log());
        for warning in warnings {
            file.warn(warning);
        }
        let activity = file.section("log").key("activity_statements");
        Self {
            options,
            hides_statements: !activity.boolean().unwrap_or(true),
            calls: level(file, "ZIGGURAT_MCP_LOG_LEVEL", CALL),
            database: level(file, "ZIGGURAT_DB_LOG_LEVEL", DETAIL),
            llm: level(file, "ZIGGURAT_LLM_LOG_LEVEL", DETAIL),
        }
    }
}

/// Parses a level, ignoring case; an unknown one is only a warning.
fn level(file: &Section<'_>, name: &str, levels: &[(&str, LevelFilter)]) -> Option<LevelFilter> {
    let text = file.variable(name)?;
    let found = levels
        .iter()
        .find(|(name, _)| text.eq_ignore_ascii_case(name));
    if found.is_none() {
        let names: Vec<_> = levels.iter().map(|(name, _)| *name).collect();
        file.warn(format!(
            "{name} is none of {} and is ignored",
            names.join(", ")
        ));
    }
    found.map(|(_, level)| *level)
}

#[cfg(test)]
mod tests {
    use ziggurat_runtime::{config::Input, flags::Flags};

    use super::*;
    use crate::configuration::fixture::sources;

    #[test]
    fn levels_are_found_by_name_and_unknown_ones_ignored_with_a_warning() {
        let sources = sources(&[
            ("ZIGGURAT_MCP_LOG_LEVEL", "INFO"),
            ("ZIGGURAT_DB_LOG_LEVEL", "trace"),
            ("ZIGGURAT_LLM_LOG_LEVEL", "loud"),
        ]);
        let flags = Flags::default();
        let loaded = Input::new(&sources, &flags).load(None, Logs::read);
        let loaded = loaded.expect("good");
        let logs = loaded.value;
        assert_eq!(logs.calls, Some(LevelFilter::INFO));
        assert_eq!(logs.database, Some(LevelFilter::TRACE));
        assert_eq!(logs.llm, None);
        assert_eq!(
            loaded.warnings,
            ["ZIGGURAT_LLM_LOG_LEVEL is none of none, info, debug, trace and is ignored"]
        );
    }
}
