//! How much is logged. These come from the environment only.

use super::environment::Reader;

/// How much is logged of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logs {
    /// Calls of tools, one JSON line each.
    pub(crate) mcp: CallLevel,
    /// What goes to PostgreSQL.
    pub(crate) database: DetailLevel,
    /// What goes to language models.
    pub(crate) llm: DetailLevel,
}

/// `ZIGGURAT_MCP_LOG_LEVEL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallLevel {
    /// Failures.
    Error,
    /// And what may become one.
    Warn,
    /// And every call.
    Info,
    /// And what happens in it.
    Debug,
}

/// `ZIGGURAT_DB_LOG_LEVEL` and `ZIGGURAT_LLM_LOG_LEVEL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DetailLevel {
    /// Nothing.
    None,
    /// That something happens.
    Info,
    /// How it goes.
    Debug,
    /// Everything that is no secret.
    Trace,
}

// === impl Logs ===

impl Default for Logs {
    fn default() -> Self {
        Self {
            mcp: CallLevel::Error,
            database: DetailLevel::None,
            llm: DetailLevel::None,
        }
    }
}

impl Logs {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        const CALL: &[(&str, CallLevel)] = &[
            ("debug", CallLevel::Debug),
            ("info", CallLevel::Info),
            ("warn", CallLevel::Warn),
            ("error", CallLevel::Error),
        ];
        const DETAIL: &[(&str, DetailLevel)] = &[
            ("none", DetailLevel::None),
            ("info", DetailLevel::Info),
            ("debug", DetailLevel::Debug),
            ("trace", DetailLevel::Trace),
        ];
        let default = Self::default();
        Self {
            mcp: level(reader, "ZIGGURAT_MCP_LOG_LEVEL", CALL, default.mcp),
            database: level(reader, "ZIGGURAT_DB_LOG_LEVEL", DETAIL, default.database),
            llm: level(reader, "ZIGGURAT_LLM_LOG_LEVEL", DETAIL, default.llm),
        }
    }
}

/// Finds a level by its name in any case; an unknown one is no reason not to start.
fn level<T: Copy>(reader: &mut Reader<'_>, name: &str, levels: &[(&str, T)], default: T) -> T {
    let Some(text) = reader.text(name) else {
        return default;
    };
    let found = levels
        .iter()
        .find(|(name, _)| text.eq_ignore_ascii_case(name));
    if let Some((_, level)) = found {
        return *level;
    }
    let names: Vec<_> = levels.iter().map(|(name, _)| *name).collect();
    reader.warn(format!(
        "{name} is none of {} and is ignored",
        names.join(", ")
    ));
    default
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::fixture::around;

    #[test]
    fn levels_are_found_by_name_and_others_ignored_with_a_word() {
        let around = around(&[
            ("ZIGGURAT_MCP_LOG_LEVEL", "INFO"),
            ("ZIGGURAT_DB_LOG_LEVEL", "trace"),
            ("ZIGGURAT_LLM_LOG_LEVEL", "loud"),
        ]);
        let mut reader = Reader::new(&around.environment);
        let logs = Logs::read(&mut reader);
        assert_eq!(logs.mcp, CallLevel::Info);
        assert_eq!(logs.database, DetailLevel::Trace);
        assert_eq!(logs.llm, DetailLevel::None);
        assert_eq!(
            reader.into_warnings(),
            ["ZIGGURAT_LLM_LOG_LEVEL is none of none, info, debug, trace and is ignored"]
        );
    }
}
