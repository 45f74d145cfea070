//! Types of parameters, and the checks of their values.
//!
//! A value is checked as it was written in JSON. What passes is a text that PostgreSQL gets as a
//! value and converts; it never becomes text of a statement.

mod conversion;
#[cfg(test)]
mod tests;
mod texts;

use std::fmt::Display;

use jiff::{Timestamp, civil::Date};
use regex::Regex;
use serde_json::{Value as Json, value::RawValue};
use ziggurat_runtime::Problem;

use crate::decimal::Decimal;

/// Default limit on the characters of a string.
pub(crate) const MAX_CHARACTERS: usize = 10_000;

/// Default limit on the bytes of a JSON document.
pub(crate) const MAX_JSON_BYTES: usize = 65_536;

/// Default limit on the values of a list.
pub(crate) const MAX_ITEMS: usize = 1_000;

/// The type of a parameter, with its rules.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// One value.
    Scalar(Scalar),
    /// A list of values.
    List(List),
    /// A name that is written into the statement: one of these.
    Identifier(Vec<String>),
}

/// The type of one value.
#[derive(Clone, Debug)]
pub(crate) enum Scalar {
    Text(TextRules),
    Integer {
        range: Range<i64>,
        allowed: Vec<i64>,
    },
    Number(Range<Decimal>),
    Boolean,
    Enum(Vec<String>),
    Date(Range<Date>),
    Timestamp(Range<Timestamp>),
    Uuid,
    Json {
        max_bytes: usize,
    },
}

/// The rules for a string.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextRules {
    pub(crate) length: Range<usize>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) allowed: Vec<String>,
}

/// A regular expression for a whole value.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// The text that the operator wrote.
    pub(crate) written: String,
    pub(crate) anchored: Regex,
}

/// The rules for a list.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) items: Scalar,
    pub(crate) length: Range<usize>,
}

/// A range of values, with both ends in it.
#[derive(Clone, Debug)]
pub(crate) struct Range<T> {
    pub(crate) min: Option<T>,
    pub(crate) max: Option<T>,
}

/// A value that has passed the checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    Text(String),
    Texts(Vec<String>),
    /// The position of an identifier in its list.
    Name(usize),
}

/// The reason why a value does not pass: what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) expected: String,
    /// The position of the member of a list, counted from one.
    pub(crate) item: Option<usize>,
}

// === impl Kind ===

impl Kind {
    /// Checks a value in JSON.
    pub(crate) fn check(&self, json: &str) -> Result<Checked, Wrong> {
        match self {
            Self::Scalar(scalar) => scalar.check(json).map(Checked::Text),
            Self::List(list) => list.check(json).map(Checked::Texts),
            Self::Identifier(allowed) => {
                let name: Option<String> = serde_json::from_str(json).ok();
                let index = name.and_then(|name| allowed.iter().position(|it| *it == name));
                let index = index.ok_or_else(|| Wrong::of(one_of(allowed)))?;
                Ok(Checked::Name(index))
            }
        }
    }

    /// Returns the casts of a placeholder: to a text, and from it to the type in PostgreSQL. `None`
    /// for a name.
    pub(crate) fn cast(&self) -> Option<String> {
        match self {
            Self::Scalar(scalar) => Some(format!("::text::{}", scalar.type_name())),
            Self::List(list) => Some(format!("::text[]::{}[]", list.items.type_name())),
            Self::Identifier(_) => None,
        }
    }
}

// === impl List ===

impl List {
    fn check(&self, json: &str) -> Result<Vec<String>, Wrong> {
        let items: Vec<&RawValue> = serde_json::from_str(json).map_err(|_| Wrong::of("a list"))?;
        if !self.length.holds(&items.len()) {
            let (min, max) = self.extent();
            return Err(Wrong::of(format!("a list of {min} to {max} values")));
        }
        let each = items.iter().enumerate().map(|(index, item)| {
            let checked = self.items.check(item.get());
            let item = Some(index + 1);
            checked.map_err(|wrong| Wrong { item, ..wrong })
        });
        each.collect()
    }

    /// Returns the smallest and the largest number of values.
    pub(crate) fn extent(&self) -> (usize, usize) {
        let Range { min, max } = self.length;
        (min.unwrap_or_default(), max.unwrap_or(MAX_ITEMS))
    }
}

// === impl Scalar ===

impl Scalar {
    /// Checks a value in JSON, and returns the text for PostgreSQL.
    pub(crate) fn check(&self, json: &str) -> Result<String, Wrong> {
        let text = || serde_json::from_str::<String>(json).ok();
        let checked = match self {
            Self::Text(rules) => return rules.check(text()),
            Self::Integer { range, allowed } => {
                let value = json.parse::<i64>().ok();
                let fits = |value: &i64| {
                    range.holds(value) && (allowed.is_empty() || allowed.contains(value))
                };
                value.filter(fits).map(|value| value.to_string())
            }
            Self::Number(range) => {
                let value = Decimal::read(json).filter(|value| range.holds(value));
                value.map(|value| value.to_string())
            }
            Self::Boolean => matches!(json, "true" | "false").then(|| json.to_owned()),
            Self::Enum(allowed) => text().filter(|text| allowed.contains(text)),
            Self::Date(range) => {
                let date = text().and_then(|text| texts::date(&text));
                let date = date.filter(|date| range.holds(date));
                date.map(|date| date.to_string())
            }
            Self::Timestamp(range) => {
                let time = text().and_then(|text| texts::timestamp(&text));
                let time = time.filter(|time| range.holds(time));
                time.map(|time| time.to_string())
            }
            Self::Uuid => text().filter(|text| texts::is_uuid(text)),
            Self::Json { max_bytes } => {
                let fits = json.len() <= *max_bytes
                    && serde_json::from_str::<Json>(json).is_ok()
                    && has_numeric_numbers(json);
                fits.then(|| json.to_owned())
            }
        };
        checked.ok_or_else(|| Wrong::of(self.expected(json)))
    }

    /// Returns what a value must be, if it is not this one.
    fn expected(&self, json: &str) -> String {
        match self {
            Self::Text(_) => "a string".to_owned(),
            Self::Integer { allowed, .. } if !allowed.is_empty() => one_of(allowed),
            Self::Integer { range, .. } => {
                let is_integer = json
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'-');
                if range.is_open() && !is_integer {
                    return "an integer".to_owned();
                }
                let (min, max) = (range.min.unwrap_or(i64::MIN), range.max.unwrap_or(i64::MAX));
                format!("an integer from {min} to {max}")
            }
            Self::Number(range) => format!("a number{}", range.extent()),
            Self::Boolean => "true or false".to_owned(),
            Self::Enum(allowed) => one_of(allowed),
            Self::Date(range) if range.is_open() => "a date such as 2026-01-31".to_owned(),
            Self::Date(range) => format!("a date{}", range.extent()),
            Self::Timestamp(range) if range.is_open() => {
                "a date and time such as 2026-01-31T12:00:00Z".to_owned()
            }
            Self::Timestamp(range) => format!("a date and time{}", range.extent()),
            Self::Uuid => "a UUID".to_owned(),
            Self::Json { max_bytes } => format!("JSON of at most {max_bytes} bytes"),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Enum(_) => "text",
            Self::Integer { .. } => "bigint",
            Self::Number(_) => "numeric",
            Self::Boolean => "boolean",
            Self::Date(_) => "date",
            Self::Timestamp(_) => "timestamptz",
            Self::Uuid => "uuid",
            Self::Json { .. } => "jsonb",
        }
    }
}

// === impl TextRules ===

impl TextRules {
    fn check(&self, text: Option<String>) -> Result<String, Wrong> {
        let text = text.ok_or_else(|| Wrong::of("a string"))?;
        let (min, max) = (
            self.length.min.unwrap_or_default(),
            self.length.max.unwrap_or(MAX_CHARACTERS),
        );
        if !(min..=max).contains(&text.chars().count()) {
            return Err(Wrong::of(format!("a string of {min} to {max} characters")));
        }
        if !self.allowed.is_empty() && !self.allowed.contains(&text) {
            return Err(Wrong::of(one_of(&self.allowed)));
        }
        match &self.pattern {
            Some(pattern) if !pattern.anchored.is_match(&text) => {
                Err(Wrong::of(format!("a match of {}", pattern.written)))
            }
            _ => Ok(text),
        }
    }
}

// === impl Pattern ===

impl Pattern {
    /// Compiles a pattern. It is compiled alone too, so that it cannot close the group around it.
    pub(crate) fn new(written: &str) -> Result<Self, Problem> {
        let invalid = |error: regex::Error| {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            Problem::Invalid("pattern", last.trim_start_matches("error: ").to_owned())
        };
        Regex::new(written).map_err(invalid)?;
        let anchored = Regex::new(&format!("^(?:{written})$")).map_err(invalid)?;
        let written = written.to_owned();
        Ok(Self { written, anchored })
    }
}

// === impl Range ===

impl<T: PartialOrd + Display> Range<T> {
    /// Returns whether all values are in it.
    pub(crate) fn is_open(&self) -> bool {
        self.min.is_none() && self.max.is_none()
    }

    fn holds(&self, value: &T) -> bool {
        self.min.as_ref().is_none_or(|min| min <= value)
            && self.max.as_ref().is_none_or(|max| value <= max)
    }

    /// Describes it behind the name of a type.
    fn extent(&self) -> String {
        match (&self.min, &self.max) {
            (None, None) => String::new(),
            (Some(min), None) => format!(" from {min}"),
            (None, Some(max)) => format!(" to {max}"),
            (Some(min), Some(max)) => format!(" from {min} to {max}"),
        }
    }
}

impl<T> Default for Range<T> {
    fn default() -> Self {
        Self {
            min: None,
            max: None,
        }
    }
}

// === impl Wrong ===

impl Wrong {
    fn of(expected: impl Into<String>) -> Self {
        let expected = expected.into();
        Self {
            expected,
            item: None,
        }
    }
}

fn one_of<T: Display>(allowed: &[T]) -> String {
    let allowed: Vec<_> = allowed.iter().map(ToString::to_string).collect();
    format!("one of {}", allowed.join(", "))
}

/// Returns whether a string in a JSON text holds a NUL character.
pub(crate) fn holds_nul(json: &str) -> bool {
    // JSON has no NUL but an escaped one, and no backslash outside of strings.
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at + 1..];
        if escape.starts_with("u0000") {
            return true;
        }
        let mut after = escape.chars();
        after.next();
        rest = after.as_str();
    }
    false
}

/// Returns whether PostgreSQL can hold all numbers of a JSON text.
fn has_numeric_numbers(json: &str) -> bool {
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        rest = &rest[at..];
        if let Some(string) = rest.strip_prefix('"') {
            rest = behind_string(string);
            continue;
        }
        let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let (number, behind) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
        if Decimal::read(number).is_none() {
            return false;
        }
        rest = behind;
    }
    true
}

/// Returns the rest of a JSON text behind the string that it begins in.
fn behind_string(json: &str) -> &str {
    let mut is_escaped = false;
    let end = json.find(|c| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.map_or("", |end| &json[end + 1..])
}
