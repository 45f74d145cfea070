//! An event as one line of JSON, the same in all programs.

use jiff::Timestamp;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use tracing::{Level, Metadata};

use super::LogEvent;

/// Members before the fields of an event; a field of the same name gets a `_`.
const OWN: [&str; 4] = ["timestamp", "level", "target", "message"];

/// Fields that come before the others.
const FIRST: [&str; 3] = ["request_id", "caller", "trace_id"];

/// Formats an event as a JSON object: `timestamp`, `level`, `target`, `message`, then the fields.
///
/// # Panics
/// Never: the names of members are texts.
#[must_use]
pub fn json_line(metadata: &Metadata<'_>, said: &LogEvent) -> String {
    let line = Line {
        level: *metadata.level(),
        target: metadata.target(),
        said,
        now: Timestamp::now(),
    };
    serde_json::to_string(&line).expect("text is JSON")
}

struct Line<'a> {
    level: Level,
    target: &'a str,
    said: &'a LogEvent,
    now: Timestamp,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let level = match self.level {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("timestamp", &format_args!("{:.6}", self.now))?;
        map.serialize_entry("level", level)?;
        map.serialize_entry("target", self.target)?;
        map.serialize_entry("message", self.said.message())?;
        for first in FIRST {
            let fields = self.said.fields().iter();
            for field in fields.filter(|field| field.name == first) {
                map.serialize_entry(field.name, &field.value)?;
            }
        }
        for field in self.said.fields() {
            if OWN.contains(&field.name) {
                map.serialize_entry(&format_args!("{}_", field.name), &field.value)?;
            } else if !FIRST.contains(&field.name) {
                map.serialize_entry(field.name, &field.value)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::Value;
    use tracing::{metadata::LevelFilter, warn};

    use super::*;
    use crate::logs::{Format, Log};

    struct Json;

    impl Format for Json {
        fn most(&self) -> LevelFilter {
            LevelFilter::TRACE
        }

        fn allows(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn line(&self, metadata: &Metadata<'_>, said: LogEvent) -> String {
            json_line(metadata, &said)
        }
    }

    #[test]
    fn an_event_is_an_object_whose_first_members_are_always_the_same() {
        let lines = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&lines);
        let log = Log::new(Json, move |line: &str| {
            written.lock().expect("whole").push_str(line);
        });
        tracing::subscriber::with_default(log, || {
            warn!(target: "a::b", rows = 7, level = "odd", request_id = "r-1", "two\nlines");
        });
        let line = lines.lock().expect("whole").clone();
        let (time, rest) = line.split_once(',').expect("members");
        assert_eq!(
            rest,
            concat!(
                r#""level":"warn","target":"a::b","message":"two\nlines","request_id":"r-1","#,
                r#""rows":7,"level_":"odd"}"#,
                "\n"
            )
        );
        assert_eq!(
            time.len(),
            r#"{"timestamp":"2026-11-22T10:00:00.123456Z""#.len()
        );
        let object: Value = serde_json::from_str(&line).expect("JSON");
        assert!(object["timestamp"].is_string(), "{line}");
    }
}
