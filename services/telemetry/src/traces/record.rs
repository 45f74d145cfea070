//! Spans as they are exported, in the JSON encoding of OTLP.

use std::fmt::Display;

use serde::{Serialize, Serializer};

use crate::traces::{SpanId, TraceId, TraceParent, parent::Context};

/// Maximum number of characters of names and values, which clients can make up.
const MAX_CHARACTERS: usize = 256;

/// Kinds of spans, as numbers of the protocol.
pub(super) const SERVER: u8 = 2;
pub(super) const CLIENT: u8 = 3;

/// Status of a span that failed, as a number of the protocol.
const ERROR: u8 = 2;

/// Finished spans. They are boxed, because a lock is held while they move.
pub(super) type Records = Vec<Box<Record>>;

/// Span that is recorded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    trace_id: TraceId,
    span_id: SpanId,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent_span_id: Option<SpanId>,
    pub(super) name: String,
    kind: u8,
    #[serde(serialize_with = "text")]
    start_time_unix_nano: u64,
    #[serde(serialize_with = "text")]
    pub(super) end_time_unix_nano: u64,
    attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<[Link; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

/// Named value of a span or of the program.
#[derive(Debug, Serialize)]
pub(super) struct Attribute {
    key: &'static str,
    value: Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Value {
    StringValue(String),
    #[serde(serialize_with = "text")]
    IntValue(u64),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    trace_id: TraceId,
    span_id: SpanId,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_state: Option<String>,
}

#[derive(Debug, Serialize)]
struct Status {
    code: u8,
}

// === impl Record ===

impl Record {
    pub(super) fn new(kind: u8, name: String, own: TraceParent, start_time_unix_nano: u64) -> Self {
        Self {
            trace_id: own.trace_id,
            span_id: own.span_id,
            trace_state: None,
            parent_span_id: None,
            name,
            kind,
            start_time_unix_nano,
            end_time_unix_nano: start_time_unix_nano,
            attributes: Vec::new(),
            links: None,
            status: None,
        }
    }

    pub(super) fn set_state(&mut self, state: Option<&str>) {
        self.trace_state = state.map(str::to_owned);
    }

    pub(super) fn set_link(&mut self, link: Option<&Context>) {
        self.links = link.map(|link| {
            [Link {
                trace_id: link.parent.trace_id,
                span_id: link.parent.span_id,
                trace_state: link.state.as_deref().map(str::to_owned),
            }]
        });
    }

    /// Sets an attribute. Of two values for one key, the last one counts.
    pub(super) fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        self.attributes.retain(|attribute| attribute.key != key);
        self.attributes.push(Attribute::new(key, value));
    }

    pub(super) const fn fail(&mut self) {
        self.status = Some(Status { code: ERROR });
    }
}

// === impl Attribute ===

impl Attribute {
    pub(super) fn new(key: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        Self { key, value }
    }
}

// === impl Value ===

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::StringValue(cut(value).to_owned())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::IntValue(value.min(i64::MAX as u64))
    }
}

/// Returns the start of a name that a client may have made up.
pub(super) fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_CHARACTERS);
    end.map_or(text, |(end, _)| text.split_at(end).0)
}

fn text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
