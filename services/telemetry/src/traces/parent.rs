//! The context of a trace that a caller sends (W3C Trace Context, level 1).

use std::{fmt, sync::Arc};

use http::{HeaderMap, HeaderName};

use crate::traces::{SpanId, TraceId};

/// Names of the header fields. The members of `params._meta` have the same names.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Length of a `traceparent` of version 00.
const LENGTH: usize = 55;

/// Maximum length of a `tracestate`; a longer one may be dropped.
const MAX_STATE: usize = 512;

/// Maximum number of members of a `tracestate`.
const MAX_MEMBERS: usize = 32;

/// Position of a span in a trace, displayed as a `traceparent`.
///
/// ```
/// use ziggurat_telemetry::traces::TraceParent;
///
/// let sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let parent = TraceParent::parse(sent).ok_or("malformed")?;
/// assert!(parent.is_sampled);
/// assert_eq!(parent.to_string(), sent);
/// # Ok::<_, &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace_id: TraceId,
    /// The span of the trace.
    pub span_id: SpanId,
    /// The decision of the sender to record the trace.
    pub is_sampled: bool,
}

/// Trace context of a request: the parent of the span of its call.
///
/// The context in `params._meta` is the parent, else the context in the header. With both, the
/// context in the header becomes a link of the span. Malformed contexts are treated as absent.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    header: Option<Context>,
    meta: Option<Context>,
}

/// A parent with the `tracestate` that belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) parent: TraceParent,
    pub(super) state: Option<Arc<str>>,
}

// === impl TraceParent ===

impl TraceParent {
    /// Reads a `traceparent`. Of a version after 00, which may be longer, it reads the fields of
    /// version 00.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (fields, rest) = text.split_at_checked(LENGTH)?;
        let mut fields = fields.split('-');
        let mut field = |length| fields.next().and_then(|field| hexadecimal(field, length));
        let (version, trace_id, span_id) = (field(2)?, field(32)?, field(16)?);
        let flags = field(2)?;
        let is_whole = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        is_whole.then_some(Self {
            trace_id: TraceId::new(trace_id)?,
            span_id: SpanId::new(span_id.try_into().ok()?)?,
            is_sampled: flags & 1 == 1,
        })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.is_sampled);
        write!(f, "00-{}-{}-{flags:02x}", self.trace_id, self.span_id)
    }
}

// === impl Incoming ===

impl Incoming {
    /// Takes the context from the headers of a request.
    #[must_use]
    pub fn with_headers(mut self, headers: &HeaderMap) -> Self {
        let mut parents = headers.get_all(TRACEPARENT).iter();
        let parent = match (parents.next(), parents.next()) {
            (Some(only), None) => only.to_str().ok(),
            _ => None,
        };
        let Some(parent) = parent.and_then(TraceParent::parse) else {
            return self;
        };
        let states = headers.get_all(TRACESTATE).iter();
        let states: Option<Vec<_>> = states.map(|state| state.to_str().ok()).collect();
        let state = states.and_then(|states| state(&states.join(",")));
        self.header = Some(Context { parent, state });
        self
    }

    /// Takes the context from the members `traceparent` and `tracestate` of `params._meta`.
    #[must_use]
    pub fn with_meta(mut self, traceparent: Option<&str>, tracestate: Option<&str>) -> Self {
        let meta = traceparent.and_then(TraceParent::parse);
        let state = tracestate.and_then(state);
        self.meta = meta.map(|parent| Context { parent, state });
        self
    }

    /// Returns the parent and the link.
    pub(super) fn into_parent_and_link(self) -> (Option<Context>, Option<Context>) {
        match self.meta {
            Some(meta) => (Some(meta), self.header),
            None => (self.header, None),
        }
    }
}

/// Reads a field of lower-case hexadecimal digits.
fn hexadecimal(field: &str, length: usize) -> Option<u128> {
    let is_digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    let is_valid = field.len() == length && field.as_bytes().iter().all(is_digit);
    is_valid.then(|| u128::from_str_radix(field, 16).ok())?
}

/// Returns a `tracestate` that can be passed on. Its members are not read.
fn state(text: &str) -> Option<Arc<str>> {
    let is_member = |member: &str| {
        let member = member.trim_matches([' ', '\t']);
        member.is_empty() || member.find('=').is_some_and(|position| position > 0)
    };
    let is_valid = text.len() <= MAX_STATE
        && text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
        && text.split(',').count() <= MAX_MEMBERS
        && text.split(',').all(is_member)
        && text.contains('=');
    is_valid.then(|| text.into())
}
