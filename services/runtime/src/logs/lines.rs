//! Formats of a log line: one of JSON for all programs, and the text of each program.

use std::fmt::{self, Write as _};

use jiff::Timestamp;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, format::Writer},
    registry::LookupSpan,
};

use crate::logs::{Field, LogEvent};

/// Members before the fields of an event; a field of the same name gets a `_`.
const OWN: [&str; 4] = ["timestamp", "level", "target", "message"];

/// Fields that come before the others.
const FIRST: [&str; 3] = ["request_id", "caller", "trace_id"];

/// The parts of a line that differ between programs.
pub trait Text: Send + Sync + 'static {
    /// Removes secrets from an event, also for JSON. By default it removes nothing.
    fn redact(&self, metadata: &Metadata<'_>, event: &mut LogEvent) {
        let _ = (metadata, event);
    }

    /// Writes an event as text without its line break, by default `LEVEL message key=value`.
    ///
    /// # Errors
    /// Fails if the line does.
    fn write(
        &self,
        line: &mut dyn fmt::Write,
        metadata: &Metadata<'_>,
        event: &LogEvent,
    ) -> fmt::Result {
        write!(line, "{} ", metadata.level())?;
        event.write(line)
    }
}

/// The default text.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// The lines of a program.
pub(super) struct Lines<T> {
    pub(super) is_json: bool,
    pub(super) text: T,
}

/// An event as a JSON object: `timestamp`, `level`, `target`, `message`, then the fields.
struct Object<'a> {
    metadata: &'a Metadata<'a>,
    event: &'a LogEvent,
}

// === impl Plain ===

impl Text for Plain {}

// === impl Lines ===

impl<S, N, T> FormatEvent<S, N> for Lines<T>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
    T: Text,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut event = LogEvent::of(event);
        event.fields.extend(spans(context)?);
        self.text.redact(metadata, &mut event);
        if self.is_json {
            let event = &event;
            let object = serde_json::to_string(&Object { metadata, event });
            line.write_str(&object.map_err(|_| fmt::Error)?)?;
        } else {
            self.text.write(&mut line, metadata, &event)?;
        }
        line.write_char('\n')
    }
}

/// Returns the spans around an event as a field: `outer{key=value}:inner`.
fn spans<S, N>(context: &FmtContext<'_, S, N>) -> Result<Option<Field>, fmt::Error>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    let Some(scope) = context.event_scope() else {
        return Ok(None);
    };
    let mut text = String::new();
    for span in scope.from_root() {
        let separator = if text.is_empty() { "" } else { ":" };
        write!(text, "{separator}{}", span.name())?;
        match span.extensions().get::<FormattedFields<N>>() {
            Some(fields) if !fields.is_empty() => write!(text, "{{{fields}}}")?,
            _ => {}
        }
    }
    Ok(Some(Field {
        name: "span",
        value: text.into(),
        is_foreign: true,
    }))
}

/// Returns the name of a level in JSON.
#[must_use]
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

// === impl Object ===

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { metadata, event } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("timestamp", &format_args!("{:.6}", Timestamp::now()))?;
        map.serialize_entry("level", level_name(*metadata.level()))?;
        map.serialize_entry("target", metadata.target())?;
        map.serialize_entry("message", &event.message)?;
        for first in FIRST {
            for field in event.fields.iter().filter(|field| field.name == first) {
                map.serialize_entry(field.name, &field.value)?;
            }
        }
        for field in &event.fields {
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
    use serde_json::Value;
    use tracing::{error_span, info, warn};

    use super::*;
    use crate::{
        Environment,
        logs::{OlderVariables, Options, RawLog, captured::CapturedLog},
    };

    /// Returns the text that is logged while the closure runs.
    fn written(format: &str, happens: impl Fn()) -> String {
        let environment = Environment::new([("ZIGGURAT_LOG_FORMAT", format)]);
        let get = |name| environment.get(name);
        let (options, _) = Options::read(get, OlderVariables::default(), &RawLog::default());
        let log = CapturedLog::default();
        let guard = log.capture_as(&options, &[], Plain);
        happens();
        drop(guard);
        log.take()
    }

    #[test]
    fn any_message_and_field_stay_on_one_line() {
        let written = written("text", || {
            info!(
                path = "/a",
                error = "two\nlines",
                empty = "",
                count = 7,
                is_ok = true,
                "first\nERROR forged\u{1b}[2J"
            );
        });
        assert_eq!(
            written,
            "INFO first\\nERROR forged\\u{1b}[2J path=/a error=\"two\\nlines\" empty=\"\" count=7 \
             is_ok=true\n"
        );
    }

    #[test]
    fn an_event_is_an_object_whose_first_members_are_always_the_same() {
        let line = written("json", || {
            warn!(target: "a::b", rows = 7, level = "odd", request_id = "r-1", "two\nlines");
        });
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

    #[test]
    fn an_event_names_the_spans_around_it_with_their_fields() {
        let happens = || {
            let outer = error_span!("call", id = 7, tool = tracing::field::Empty);
            let _outer = outer.enter();
            outer.record("tool", "x\ny");
            let _inner = error_span!("read").entered();
            info!(rows = 2, "sent");
        };
        let spans = r#""call{id=7 tool=\"x\\ny\"}:read""#;
        assert_eq!(
            written("text", happens),
            format!("INFO sent rows=2 span={spans}\n")
        );
        let line = written("json", happens);
        let end = format!(r#""message":"sent","rows":2,"span":{spans}}}"#);
        assert!(line.trim_end().ends_with(&end), "{line}");
    }
}
