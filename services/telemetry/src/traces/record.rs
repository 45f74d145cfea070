//! Spans as they are exported, in the JSON encoding of OTLP.

use std::{borrow::Cow, fmt::Display, sync::Arc};

use serde::{Serialize, Serializer};

use super::{SpanId, TraceId, TraceParent, parent::Context};

/// Maximum number of characters of names and values, which clients can make up.
const MAX_CHARACTERS: usize = 256;

/// Kinds of spans, as numbers of the protocol.
pub(super) const SERVER: u8 = 2;
pub(super) const CLIENT: u8 = 3;

/// Status of a span that failed, as a number of the protocol.
const ERROR: u8 = 2;

/// Span that is recorded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    #[serde(serialize_with = "text")]
    trace_id: TraceId,
    #[serde(serialize_with = "text")]
    span_id: SpanId,
    #[serde(serialize_with = "optional", skip_serializing_if = "Option::is_none")]
    trace_state: Option<Arc<str>>,
    #[serde(serialize_with = "optional", skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<SpanId>,
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
    StringValue(Cow<'static, str>),
    #[serde(serialize_with = "text")]
    IntValue(u64),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    #[serde(serialize_with = "text")]
    trace_id: TraceId,
    #[serde(serialize_with = "text")]
    span_id: SpanId,
    #[serde(serialize_with = "optional", skip_serializing_if = "Option::is_none")]
    trace_state: Option<Arc<str>>,
}

#[derive(Debug, Serialize)]
struct Status {
    code: u8,
}

/// Body of an export.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Export<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: Resource<'a>,
    scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct Resource<'a> {
    attributes: &'a [Attribute],
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: Scope,
    spans: &'a [Box<Record>],
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
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

    pub(super) fn with_parent(self, parent_span_id: Option<SpanId>) -> Self {
        Self {
            parent_span_id,
            ..self
        }
    }

    pub(super) fn with_state(self, trace_state: Option<Arc<str>>) -> Self {
        Self {
            trace_state,
            ..self
        }
    }

    pub(super) fn with_link(self, link: Option<Context>) -> Self {
        let links = link.map(|link| {
            [Link {
                trace_id: link.parent.trace_id,
                span_id: link.parent.span_id,
                trace_state: link.state,
            }]
        });
        Self { links, ..self }
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
        Self::StringValue(cut(value).to_owned().into())
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

/// Encodes spans of the program that `resource` describes.
pub(super) fn encode(
    resource: &[Attribute],
    spans: &[Box<Record>],
) -> Result<Vec<u8>, serde_json::Error> {
    let scope = Scope {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
    };
    serde_json::to_vec(&Export {
        resource_spans: [ResourceSpans {
            resource: Resource {
                attributes: resource,
            },
            scope_spans: [ScopeSpans { scope, spans }],
        }],
    })
}

fn text<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

#[expect(clippy::ref_option, reason = "serde passes fields by reference")]
fn optional<T: Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}
