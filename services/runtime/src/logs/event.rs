//! Content of a log event.

use std::{
    error::Error,
    fmt::{self, Write as _},
};

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::Value;
use tracing::{
    Event,
    field::{self, Visit},
};

/// Message of an event, and its fields in the given order. Serializes as the object of the fields.
#[derive(Clone, Debug, Default)]
pub struct LogEvent {
    message: String,
    fields: Vec<Field>,
}

/// One field of an event.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name of the field.
    pub name: &'static str,
    /// Value of the field.
    pub value: Value,
    /// Is true for an error or another value that formats itself, so that its text may come from
    /// another system.
    pub is_foreign: bool,
}

// === impl LogEvent ===

impl LogEvent {
    /// Reads an event.
    pub(super) fn of(event: &Event<'_>) -> Self {
        let mut said = Self::default();
        event.record(&mut said);
        said
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Replaces the message.
    pub fn rephrase(&mut self, message: String) {
        self.message = message;
    }

    /// Returns the fields.
    pub(super) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the fields for changes.
    pub fn fields_mut(&mut self) -> &mut [Field] {
        &mut self.fields
    }

    /// Appends the message, with control characters escaped.
    pub fn push_message(&self, line: &mut String) {
        for c in self.message.chars() {
            if c.is_control() {
                line.extend(c.escape_default());
            } else {
                line.push(c);
            }
        }
    }

    /// Appends ` name=value` for each field.
    pub fn push_fields(&self, line: &mut String) {
        for Field { name, value, .. } in &self.fields {
            line.push(' ');
            line.push_str(name);
            line.push('=');
            match value {
                Value::String(text) => push_value(line, text),
                other => push(line, format_args!("{other}")),
            }
        }
    }

    fn keep(&mut self, field: &field::Field, value: Value, is_foreign: bool) {
        match value {
            Value::String(text) if field.name() == "message" => self.message = text,
            value => self.fields.push(Field {
                name: field.name(),
                value,
                is_foreign,
            }),
        }
    }
}

impl Visit for LogEvent {
    fn record_str(&mut self, field: &field::Field, value: &str) {
        self.keep(field, value.into(), false);
    }

    fn record_i64(&mut self, field: &field::Field, value: i64) {
        self.keep(field, value.into(), false);
    }

    fn record_u64(&mut self, field: &field::Field, value: u64) {
        self.keep(field, value.into(), false);
    }

    fn record_f64(&mut self, field: &field::Field, value: f64) {
        // Durations are in milliseconds; digits below a microsecond are noise.
        self.keep(field, ((value * 1e3).round() / 1e3).into(), false);
    }

    fn record_bool(&mut self, field: &field::Field, value: bool) {
        self.keep(field, value.into(), false);
    }

    fn record_error(&mut self, field: &field::Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            let more = cause.to_string();
            // Some errors include the text of their source already.
            if !text.contains(&more) {
                push(&mut text, format_args!(": {more}"));
            }
            source = cause.source();
        }
        self.keep(field, text.into(), true);
    }

    fn record_debug(&mut self, field: &field::Field, value: &dyn fmt::Debug) {
        self.keep(field, format!("{value:?}").into(), true);
    }
}

impl Serialize for LogEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for Field { name, value, .. } in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Appends a text, in quotes if its end would be unclear.
pub fn push_value(line: &mut String, text: &str) {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | '=');
    if !text.is_empty() && text.chars().all(is_plain) {
        line.push_str(text);
    } else {
        push(line, format_args!("{text:?}"));
    }
}

fn push(line: &mut String, text: fmt::Arguments<'_>) {
    line.write_fmt(text)
        .expect("a string takes all that is written");
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::{Metadata, info, metadata::LevelFilter};

    use super::*;
    use crate::logs::{Format, Log};

    struct Whole;

    impl Format for Whole {
        fn most(&self) -> LevelFilter {
            LevelFilter::TRACE
        }

        fn allows(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn line(&self, _: &Metadata<'_>, said: LogEvent) -> String {
            let mut line = String::new();
            said.push_message(&mut line);
            said.push_fields(&mut line);
            line
        }
    }

    #[test]
    fn any_message_and_field_stay_on_one_line() {
        let lines = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&lines);
        let log = Log::new(Whole, move |line: &str| {
            written.lock().expect("whole").push_str(line);
        });
        tracing::subscriber::with_default(log, || {
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
            *lines.lock().expect("whole"),
            "first\\nERROR forged\\u{1b}[2J path=/a error=\"two\\nlines\" empty=\"\" count=7 \
             is_ok=true\n"
        );
    }
}
