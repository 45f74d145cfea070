//! The text of a log line, and the levels of the events.

use std::fmt;

use jiff::Timestamp;
use tracing::{Metadata, metadata::LevelFilter};
use ziggurat_llm as llm;
use ziggurat_mcp as mcp;
use ziggurat_postgres as pg;
use ziggurat_runtime::logs::{LogEvent, Part, Text, level_name};

use crate::configuration::Logs;

/// Prefix of messages that have their own subject, so that no level is added.
const AUTH: &str = "[AUTH]";

/// Lines of four forms: for calls, for the database, for model providers, and for everything else.
#[derive(Clone, Copy, Debug)]
pub(super) struct BySubject;

/// Returns the parts that have levels of their own.
pub(super) fn parts(logs: &Logs, is_debug: bool) -> [Part; 4] {
    let part = |target, older, default| Part {
        older,
        default,
        ..Part::new(target)
    };
    [
        part(mcp::LOG_TARGET, logs.calls, LevelFilter::ERROR),
        part(pg::LOG_TARGET, logs.database, LevelFilter::OFF),
        part(llm::LOG_TARGET, logs.llm, LevelFilter::OFF),
        // The flag overrides all variables.
        Part {
            fixed: is_debug.then_some(LevelFilter::DEBUG),
            ..Part::new("ziggurat")
        },
    ]
}

// === impl BySubject ===

impl Text for BySubject {
    fn write(
        &self,
        line: &mut dyn fmt::Write,
        metadata: &Metadata<'_>,
        event: &LogEvent,
    ) -> fmt::Result {
        match metadata.target() {
            mcp::LOG_TARGET => return write_call(line, metadata, event),
            pg::LOG_TARGET => line.write_str("[DATABASE] ")?,
            llm::LOG_TARGET => line.write_str("[LLM] ")?,
            _ if event.message.starts_with(AUTH) => {}
            _ => write!(line, "{} ", metadata.level())?,
        }
        event.write(line)
    }
}

/// Writes a call as a JSON object, with its fields in an object of their own.
fn write_call(line: &mut dyn fmt::Write, metadata: &Metadata<'_>, event: &LogEvent) -> fmt::Result {
    let (now, level) = (Timestamp::now(), level_name(*metadata.level()));
    let json = |text: serde_json::Result<String>| text.map_err(|_| fmt::Error);
    let message = json(serde_json::to_string(&event.message))?;
    let fields = json(serde_json::to_string(event))?;
    write!(
        line,
        r#"{{"timestamp":"{now:.6}","level":"{level}","message":{message},"fields":{fields}}}"#
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tracing::{Level, debug, enabled, error, info, trace, warn};
    use ziggurat_runtime::logs::captured::CapturedLog;

    use super::*;

    /// Returns the lines that are logged while the closure runs.
    fn written(logs: &Logs, is_debug: bool, happens: impl Fn()) -> String {
        let log = CapturedLog::default();
        let guard = log.capture_as(&logs.options, &parts(logs, is_debug), BySubject);
        happens();
        drop(guard);
        log.take()
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
        let written = written(&logs, false, || {
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
            let written = written(&logs, is_debug, something_of_everything);
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
            &Logs {
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
