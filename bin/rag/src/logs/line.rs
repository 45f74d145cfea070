//! The text of a log line, and the levels of the events.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;
use tracing::{Metadata, metadata::LevelFilter};
use ziggurat_llm as llm;
use ziggurat_postgres as pg;
use ziggurat_runtime::{
    Environment,
    logs::{LogEvent, OlderVariables, Options, Part, RawLog, Text, write_value},
};

use crate::secrets::Secrets;

/// Connections and calls of providers, which have levels of their own.
pub(super) const PARTS: [Part; 2] = [frequent(pg::LOG_TARGET), frequent(llm::LOG_TARGET)];

/// Lines as `time=… level=… msg=… key=value`, without secrets.
#[derive(Debug)]
pub(super) struct KeyValue(pub(super) Secrets);

/// Reads the options from the environment and the configuration file; also returns warnings.
pub(super) fn options(environment: &Environment, file: &RawLog) -> (Options, Vec<String>) {
    let older = OlderVariables {
        level: Some("LOG_LEVEL"),
        format: Some("LOG_FORMAT"),
    };
    Options::read(|name| environment.get(name), older, file)
}

/// Returns the part of a frequent event, which is logged only from `debug` on.
const fn frequent(target: &'static str) -> Part {
    Part {
        of: |all| match all {
            LevelFilter::INFO => LevelFilter::WARN,
            other => other,
        },
        ..Part::new(target)
    }
}

// === impl KeyValue ===

impl Text for KeyValue {
    fn redact(&self, metadata: &Metadata<'_>, event: &mut LogEvent) {
        let Self(secrets) = self;
        let is_ours = metadata.target().starts_with("ziggurat");
        let clean = |text: &mut String, is_foreign: bool| {
            *text = if is_foreign || !is_ours {
                secrets.redact(text)
            } else {
                secrets.hide(text)
            };
        };
        clean(&mut event.message, false);
        for field in &mut event.fields {
            if let Value::String(text) = &mut field.value {
                clean(text, field.is_foreign);
            }
        }
    }

    fn write(
        &self,
        line: &mut dyn fmt::Write,
        metadata: &Metadata<'_>,
        event: &LogEvent,
    ) -> fmt::Result {
        let (now, level) = (Timestamp::now(), metadata.level());
        write!(line, "time={now:.3} level={level} msg=")?;
        write_value(line, &event.message)?;
        event.write_fields(line)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use tracing::{debug, error, info, trace, warn};
    use ziggurat_runtime::logs::captured::CapturedLog;

    use super::*;

    const KEY: &str = "wq8JkLmN2pRs7TuV";

    /// Returns the lines that `happens` writes, without the time.
    fn written(variables: &[(&str, &str)], happens: impl Fn()) -> Vec<String> {
        let secrets = Secrets::default();
        secrets.add([KEY]);
        let environment = Environment::new(variables.iter().copied());
        let (options, warnings) = options(&environment, &RawLog::default());
        assert_eq!(warnings, [""; 0]);
        let log = CapturedLog::default();
        let guard = log.capture_as(&options, &PARTS, KeyValue(secrets));
        happens();
        drop(guard);
        let text = log.take();
        let lines = text.lines().map(|line| {
            let end = line.find([' ', ',']).expect("a time first");
            let time = &line[..end];
            assert!(
                time.contains('T') && time.trim_end_matches('"').ends_with('Z'),
                "{line}"
            );
            line[end + 1..].to_owned()
        });
        lines.collect()
    }

    /// An error with the message of a library.
    #[derive(Debug)]
    struct Theirs(&'static str);

    impl fmt::Display for Theirs {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Theirs {}

    #[test]
    fn a_line_has_time_level_message_and_fields() {
        let happens = || info!(pipelines = 2, path = "a b", "configuration loaded");
        assert_eq!(
            written(&[], happens),
            [r#"level=INFO msg="configuration loaded" pipelines=2 path="a b""#]
        );
        assert_eq!(
            written(&[("LOG_FORMAT", "JSON")], happens),
            [concat!(
                r#""level":"info","target":"ziggurat_rag::logs::line::tests","#,
                r#""message":"configuration loaded","pipelines":2,"path":"a b"}"#
            )]
        );
    }

    #[test]
    fn the_level_decides_which_events_are_written() {
        let happens = || {
            error!("1");
            warn!(target: "hyper", "2");
            info!("3");
            info!(target: "hyper", "4");
            info!(target: pg::LOG_TARGET, "5");
            error!(target: "sqlx::query", "6");
            debug!("7");
            trace!("8");
        };
        for (level, expected) in [
            ("", "123"),
            ("error", "1"),
            ("warn", "12"),
            ("INFO", "123"),
            ("debug", "12357"),
            ("trace", "123578"),
        ] {
            let written = written(&[("LOG_LEVEL", level)], happens);
            let written: String = written
                .iter()
                .filter_map(|line| line.rsplit_once("msg="))
                .map(|(_, number)| number)
                .collect();
            assert_eq!(written, expected, "{level}");
        }
    }

    #[test]
    fn a_secret_is_redacted_in_every_event() {
        let happens = || {
            info!(path = "/v1/wq8JkLmN2pRs7TuV", "key wq8JkLmN");
            let theirs: &dyn Error = &Theirs("password=x2 and wq8JkLmN");
            warn!(error = theirs, "it failed");
            warn!(error = %Theirs("Bearer abcdefgh1"), "it failed");
            // Messages of this program are not redacted by pattern.
            error!(
                error = "database.password: environment variable not set: A",
                "server failed"
            );
            warn!(target: "hyper", "token=abcdefgh");
        };
        assert_eq!(
            written(&[], happens),
            [
                r#"level=INFO msg="key [redacted]" path=/v1/[redacted]"#,
                r#"level=WARN msg="it failed" error="password=[redacted] and [redacted]""#,
                r#"level=WARN msg="it failed" error="Bearer [redacted]""#,
                r#"level=ERROR msg="server failed" error="database.password: environment variable not set: A""#,
                r#"level=WARN msg="token=[redacted]""#,
            ]
        );
    }

    #[test]
    fn invalid_options_are_ignored_with_a_warning() {
        let environment = Environment::new([("LOG_LEVEL", "loud"), ("LOG_FORMAT", "xml")]);
        let (read, warnings) = options(&environment, &RawLog::default());
        assert!(!read.is_json());
        let without = options(&Environment::default(), &RawLog::default());
        assert_eq!(read, without.0);
        assert_eq!(
            warnings,
            [
                "LOG_FORMAT is ignored: it is none of text, json",
                "LOG_LEVEL is ignored: it is none of error, warn, info, debug, trace, off"
            ]
        );
    }
}
