//! Content of a log event.

use std::{error::Error, fmt};

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::Value;
use tracing::{
    Event,
    field::{self, Visit},
};

/// Message of an event, and its fields in the given order. Serializes as the object of the fields.
#[derive(Clone, Debug, Default)]
pub struct LogEvent {
    /// The message.
    pub message: String,
    /// The fields.
    pub fields: Vec<Field>,
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
        let mut content = Self::default();
        event.record(&mut content);
        content
    }

    /// Writes `message key=value`, with the control characters of the message escaped.
    ///
    /// # Errors
    /// Fails if the line does.
    pub fn write(&self, line: &mut dyn fmt::Write) -> fmt::Result {
        for part in self.message.split_inclusive(char::is_control) {
            let text = part.trim_end_matches(char::is_control);
            line.write_str(text)?;
            write!(line, "{}", part[text.len()..].escape_default())?;
        }
        self.write_fields(line)
    }

    /// Writes ` key=value` for each field.
    ///
    /// # Errors
    /// Fails if the line does.
    pub fn write_fields(&self, line: &mut dyn fmt::Write) -> fmt::Result {
        for Field { name, value, .. } in &self.fields {
            write!(line, " {name}=")?;
            match value {
                Value::String(text) => write_value(line, text)?,
                other => write!(line, "{other}")?,
            }
        }
        Ok(())
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
                text.push_str(": ");
                text.push_str(&more);
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

/// Writes a text, in quotes if its end would be unclear.
///
/// # Errors
/// Fails if the line does.
pub fn write_value(line: &mut dyn fmt::Write, text: &str) -> fmt::Result {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | '=');
    if !text.is_empty() && text.chars().all(is_plain) {
        line.write_str(text)
    } else {
        write!(line, "{text:?}")
    }
}
