//! How an event looks on its line.

use std::{
    error::Error,
    fmt::{self, Write as _},
};

use jiff::Timestamp;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::Value;
use tracing::{
    Event, Level,
    field::{Field, Visit},
};

use super::levels::Subject;

/// What some messages begin with that say themselves what they are about.
const AUTH: &str = "[AUTH]";

/// What an event says.
#[derive(Default)]
struct Said {
    message: String,
    fields: Vec<(&'static str, Value)>,
}

/// The fields of an event, as an object.
struct Fields<'a>(&'a [(&'static str, Value)]);

/// An event as a JSON object.
#[derive(Serialize)]
struct Object<'a> {
    timestamp: String,
    level: &'static str,
    message: &'a str,
    fields: Fields<'a>,
}

/// The line of an event, line break included.
pub(super) fn of(event: &Event<'_>) -> String {
    let mut said = Said::default();
    event.record(&mut said);
    let metadata = event.metadata();
    let mut line = match Subject::of(metadata.target()) {
        Subject::Calls => said.json(*metadata.level(), Timestamp::now()),
        Subject::Database => said.plain("[DATABASE] "),
        Subject::Llm => said.plain("[LLM] "),
        Subject::Other if said.message.starts_with(AUTH) => said.plain(""),
        Subject::Other => said.plain(&format!("{} ", metadata.level())),
    };
    line.push('\n');
    line
}

// === impl Said ===

impl Said {
    fn json(&self, level: Level, now: Timestamp) -> String {
        let object = Object {
            timestamp: format!("{now:.6}"),
            level: match level {
                Level::ERROR => "error",
                Level::WARN => "warn",
                Level::INFO => "info",
                _ => "debug",
            },
            message: &self.message,
            fields: Fields(&self.fields),
        };
        serde_json::to_string(&object).expect("text is JSON")
    }

    fn plain(&self, prefix: &str) -> String {
        let mut line = String::from(prefix);
        push_visible(&mut line, &self.message);
        for (name, value) in &self.fields {
            line.push(' ');
            line.push_str(name);
            line.push('=');
            match value {
                Value::String(text) => push_value(&mut line, text),
                other => push(&mut line, format_args!("{other}")),
            }
        }
        line
    }

    fn keep(&mut self, field: &Field, value: Value) {
        match value {
            Value::String(text) if field.name() == "message" => self.message = text,
            value => self.fields.push((field.name(), value)),
        }
    }
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.keep(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.keep(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.keep(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // Durations in milliseconds; less than a microsecond says nothing.
        self.keep(field, ((value * 1e3).round() / 1e3).into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.keep(field, value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            let more = cause.to_string();
            // Not all errors leave it to their source to say it.
            if !text.contains(&more) {
                push(&mut text, format_args!(": {more}"));
            }
            source = cause.source();
        }
        self.keep(field, text.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.keep(field, format!("{value:?}").into());
    }
}

// === impl Fields ===

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Writes a value so that it can be told where it ends.
fn push_value(line: &mut String, text: &str) {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '"';
    if !text.is_empty() && text.chars().all(is_plain) {
        line.push_str(text);
    } else {
        push(line, format_args!("{text:?}"));
    }
}

/// Writes a text so that it stays on its line.
fn push_visible(line: &mut String, text: &str) {
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
}

fn push(line: &mut String, text: fmt::Arguments<'_>) {
    line.write_fmt(text)
        .expect("a string takes all that is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str, fields: &[(&'static str, Value)]) -> Said {
        Said {
            message: message.to_owned(),
            fields: fields.to_vec(),
        }
    }

    #[test]
    fn a_call_is_a_json_object_of_four_members() {
        let now: Timestamp = "2026-11-21T10:00:00.25Z".parse().expect("a time");
        let fields = [("tool", "a \"b\"\n".into()), ("duration_ms", 0.5.into())];
        assert_eq!(
            said("tool call", &fields).json(Level::INFO, now),
            r#"{"timestamp":"2026-11-21T10:00:00.250000Z","level":"info","message":"tool call","fields":{"tool":"a \"b\"\n","duration_ms":0.5}}"#
        );
    }

    #[test]
    fn whatever_is_said_stays_on_its_line() {
        let fields = [
            ("path", "/a".into()),
            ("error", "two\nlines".into()),
            ("empty", "".into()),
            ("count", 7.into()),
            ("is_ok", true.into()),
        ];
        assert_eq!(
            said("first\nERROR forged\u{1b}[2J", &fields).plain("INFO "),
            "INFO first\\nERROR forged\\u{1b}[2J path=/a error=\"two\\nlines\" empty=\"\" count=7 \
             is_ok=true"
        );
    }
}
