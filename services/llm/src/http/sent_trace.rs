//! Context of a trace in the headers of requests.

use http::{HeaderMap, HeaderName, HeaderValue};
use ziggurat_telemetry::traces::ProviderSpan;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Headers of W3C Trace Context.
#[derive(Clone)]
pub(super) struct SentTrace {
    traceparent: HeaderValue,
    tracestate: Option<HeaderValue>,
}

// === impl SentTrace ===

impl SentTrace {
    /// Returns the headers of a span, if the provider gets them.
    pub(super) fn of(span: &ProviderSpan) -> Option<Self> {
        let (parent, state) = span.sent()?;
        Some(Self {
            traceparent: HeaderValue::from_str(&parent.to_string()).ok()?,
            tracestate: state.and_then(|state| HeaderValue::from_str(state).ok()),
        })
    }

    /// Sets the headers, and replaces those that the configuration may have.
    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        headers.insert(TRACEPARENT, self.traceparent.clone());
        match &self.tracestate {
            Some(state) => headers.insert(TRACESTATE, state.clone()),
            // It would belong to another trace.
            None => headers.remove(TRACESTATE),
        };
    }
}
