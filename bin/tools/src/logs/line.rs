//! Format of log lines.

use jiff::Timestamp;
use serde::Serialize;
use tracing::{Level, Metadata, metadata::LevelFilter};
use ziggurat_runtime::logs::{Format, LogEvent, json_line};

use super::levels::{Levels, Subject};

/// Prefix of messages that have their own subject, so that no level is added.
const AUTH: &str = "[AUTH]";

/// Event as a JSON object.
#[derive(Serialize)]
struct Object<'a> {
    timestamp: String,
    level: &'static str,
    message: &'a str,
    fields: &'a LogEvent,
}

impl Format for Levels {
    fn most(&self) -> LevelFilter {
        Self::most(self)
    }

    fn allows(&self, metadata: &Metadata<'_>) -> bool {
        self.allow(metadata)
    }

    fn line(&self, metadata: &Metadata<'_>, said: LogEvent) -> String {
        if self.are_json() {
            return json_line(metadata, &said);
        }
        match Subject::of(metadata.target()) {
            Subject::Calls => json(&said, *metadata.level(), Timestamp::now()),
            Subject::Database => plain(&said, "[DATABASE] ".to_owned()),
            Subject::Llm => plain(&said, "[LLM] ".to_owned()),
            Subject::Other if said.message().starts_with(AUTH) => plain(&said, String::new()),
            Subject::Other => plain(&said, format!("{} ", metadata.level())),
        }
    }
}

fn json(said: &LogEvent, level: Level, now: Timestamp) -> String {
    let object = Object {
        timestamp: format!("{now:.6}"),
        level: match level {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            _ => "debug",
        },
        message: said.message(),
        fields: said,
    };
    serde_json::to_string(&object).expect("text is JSON")
}

/// Appends the message and the fields to the start of a line.
fn plain(said: &LogEvent, mut line: String) -> String {
    said.push_message(&mut line);
    said.push_fields(&mut line);
    line
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::Value;
    use tracing::{Level, debug, enabled, error, info, trace, warn};
    use ziggurat_mcp as mcp;
    use ziggurat_postgres as pg;
    use ziggurat_runtime::logs::Log;

    use super::*;
    use crate::configuration::Logs;

    /// Returns the lines that are logged while the closure runs.
    fn written(logs: Logs, is_debug: bool, happens: impl Fn()) -> String {
        let lines = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&lines);
        let log = Log::new(Levels::new(logs, is_debug), move |line: &str| {
            lines.lock().expect("whole").push_str(line);
        });
        tracing::subscriber::with_default(log, happens);
        written.lock().expect("whole").clone()
    }

    fn something_of_everything() {
        error!(target: mcp::LOG_TARGET, "call error");
        warn!(target: mcp::LOG_TARGET, "call warn");
        info!(target: mcp::LOG_TARGET, "call info");
        debug!(target: mcp::LOG_TARGET, "call debug");
        info!(target: pg::LOG_TARGET, "base info");
        debug!(target: pg::LOG_TARGET, "base debug");
        trace!(target: pg::LOG_TARGET, "base trace");
        warn!(target: "sqlx::postgres::notice", "secret notice");
        error!(target: "sqlx::query", "secret query");
        info!(target: "hyper", "theirs info");
        warn!(target: "hyper", "theirs warn");
        info!(target: "ziggurat_accounts", "[AUTH] ours");
        info!("ours info");
        debug!("ours debug");
        trace!("ours trace");
    }

    #[test]
    fn enabled_returns_whether_an_event_would_be_written() {
        let logs = Logs {
            database: Some(LevelFilter::DEBUG),
            ..Logs::default()
        };
        let written = written(logs, false, || {
            assert!(enabled!(target: pg::LOG_TARGET, Level::DEBUG));
            assert!(!enabled!(target: pg::LOG_TARGET, Level::TRACE));
            assert!(!enabled!(target: mcp::LOG_TARGET, Level::WARN));
        });
        assert_eq!(written, "");
    }

    #[test]
    fn levels_decide_which_events_are_written() {
        let logs = |calls, database| Logs {
            calls: Some(calls),
            database: Some(database),
            ..Logs::default()
        };
        let cases = [
            (
                logs(LevelFilter::ERROR, LevelFilter::OFF),
                false,
                "call error|theirs warn|[AUTH] ours|ours info",
            ),
            (
                logs(LevelFilter::WARN, LevelFilter::INFO),
                false,
                "call error|call warn|base info|theirs warn|[AUTH] ours|ours info",
            ),
            (
                logs(LevelFilter::INFO, LevelFilter::DEBUG),
                false,
                "call error|call warn|call info|base info|base debug|theirs warn|[AUTH] ours|\
                 ours info",
            ),
            (
                logs(LevelFilter::DEBUG, LevelFilter::TRACE),
                true,
                "call error|call warn|call info|call debug|base info|base debug|base trace|\
                 theirs warn|[AUTH] ours|ours info|ours debug",
            ),
        ];
        for (logs, is_debug, expected) in cases {
            let written = written(logs, is_debug, something_of_everything);
            let expected: Vec<_> = expected.split('|').collect();
            assert_eq!(written.lines().count(), expected.len(), "{written}");
            for (line, expected) in written.lines().zip(expected) {
                assert!(line.contains(expected), "{line} is not {expected}");
            }
        }
    }

    #[test]
    fn a_call_is_a_json_object_of_four_members() {
        let written = written(
            Logs {
                calls: Some(LevelFilter::INFO),
                ..Logs::default()
            },
            false,
            || info!(target: mcp::LOG_TARGET, tool = "a \"b\"\n", duration_ms = 0.5, "tool call"),
        );
        let (time, rest) = written.split_once(',').expect("a list of members");
        assert_eq!(
            rest,
            concat!(
                r#""level":"info","message":"tool call","fields":{"tool":"a \"b\"\n","duration_ms":0.5}}"#,
                "\n"
            )
        );
        let object: Value = serde_json::from_str(&written).expect("JSON");
        let time_of_day = object["timestamp"].as_str().expect("a time");
        assert!(time_of_day.ends_with('Z'), "{time}");
        assert_eq!(time_of_day.len(), "2026-11-21T10:00:00.250000Z".len());
    }
}
