//! The text of a log line, and the filter for events.

use jiff::Timestamp;
use serde_json::Value;
use tracing::{Level, Metadata, metadata::LevelFilter};
use ziggurat_llm as llm;
use ziggurat_postgres as pg;
use ziggurat_runtime::{
    Environment,
    logs::{Format, LogEvent, Options, RawLog, json_line, push_value},
};

use crate::secrets::Secrets;

/// The line format of this program.
#[derive(Debug)]
pub(super) struct Lines {
    options: Options,
    /// Level in `LOG_LEVEL`.
    level: Option<LevelFilter>,
    secrets: Secrets,
}

// === impl Lines ===

impl Lines {
    /// Reads the options from the environment and the configuration file; also returns warnings.
    pub(super) fn new(
        environment: &Environment,
        file: &RawLog,
        secrets: Secrets,
    ) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let get = |name| environment.get(name);
        let options = Options::read(get, Some("LOG_FORMAT"), file, &mut warnings);
        let level = environment.get("LOG_LEVEL").map(Options::named_level);
        let level = level.and_then(|level| {
            level
                .map_err(|problem| warnings.push(format!("LOG_LEVEL is ignored: it {problem}")))
                .ok()
        });
        let lines = Self {
            options,
            level,
            secrets,
        };
        (lines, warnings)
    }

    /// Redacts the secrets of an event.
    fn clean(&self, metadata: &Metadata<'_>, said: &mut LogEvent) {
        let is_ours = metadata.target().starts_with("ziggurat");
        let message = if is_ours {
            self.secrets.hide(said.message())
        } else {
            self.secrets.redact(said.message())
        };
        said.rephrase(message);
        for field in said.fields_mut() {
            if let Value::String(text) = &mut field.value {
                *text = if field.is_foreign || !is_ours {
                    self.secrets.redact(text)
                } else {
                    self.secrets.hide(text)
                };
            }
        }
    }

    fn render(level: Level, said: &LogEvent, now: Timestamp) -> String {
        let mut line = format!("time={now:.3} level={level} msg=");
        push_value(&mut line, said.message());
        said.push_fields(&mut line);
        line
    }
}

impl Format for Lines {
    fn most(&self) -> LevelFilter {
        let own = self.level.unwrap_or(LevelFilter::INFO);
        own.max(self.options.most())
    }

    fn allows(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let of = |all: LevelFilter| match target {
            // Connections and calls are frequent, so they are logged only from `debug` on.
            pg::LOG_TARGET | llm::LOG_TARGET if all <= LevelFilter::INFO => {
                all.min(LevelFilter::WARN)
            }
            _ if target.starts_with("ziggurat") => all,
            _ => all.min(LevelFilter::WARN),
        };
        *metadata.level()
            <= self
                .options
                .level(target, self.level, LevelFilter::INFO, of)
    }

    fn line(&self, metadata: &Metadata<'_>, mut said: LogEvent) -> String {
        self.clean(metadata, &mut said);
        if self.options.is_json() {
            return json_line(metadata, &said);
        }
        Self::render(*metadata.level(), &said, Timestamp::now())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        error::Error,
        fmt,
        sync::{Arc, Mutex},
    };

    use tracing::{debug, error, info, trace, warn};
    use ziggurat_runtime::logs::Log;

    use super::*;

    const KEY: &str = "wq8JkLmN2pRs7TuV";

    /// Returns the lines that `happens` writes, without the time.
    fn written(variables: &[(&str, &str)], happens: impl Fn()) -> Vec<String> {
        let secrets = Secrets::default();
        secrets.add([KEY]);
        let environment = Environment::new(variables.iter().copied());
        let (lines, warnings) = Lines::new(&environment, &RawLog::default(), secrets);
        assert_eq!(warnings, [""; 0]);
        let text = Arc::new(Mutex::new(String::new()));
        let all = Arc::clone(&text);
        let log = Log::new(lines, move |line: &str| {
            all.lock().expect("whole").push_str(line);
        });
        tracing::subscriber::with_default(log, happens);
        let text = text.lock().expect("whole");
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
        let (lines, warnings) = Lines::new(&environment, &RawLog::default(), Secrets::default());
        assert_eq!((lines.level, lines.options.is_json()), (None, false));
        assert_eq!(
            warnings,
            [
                "LOG_FORMAT is ignored: it is none of text, json",
                "LOG_LEVEL is ignored: it is none of error, warn, info, debug, trace, off"
            ]
        );
    }
}
