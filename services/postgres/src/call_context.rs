//! The call that statements run for.

mod evidence;

use std::sync::Arc;

use ziggurat_telemetry::traces::{SqlComment, StatementSpan, Trace};

pub(crate) use self::evidence::SNAPSHOT;
pub use self::evidence::{Digest, Evidence, Facts, Snapshot};

/// The trace of a call, and what PostgreSQL is told about the call in a comment; by default nothing
/// of both.
#[derive(Clone, Debug, Default)]
pub struct CallContext(Option<Arc<Context>>);

#[derive(Debug)]
struct Context {
    trace: Trace,
    comment: Option<CallComment>,
    evidence: Option<Evidence>,
}

/// Contents of the comment before the statements of a call.
#[derive(Clone, Debug, Default)]
pub struct CallComment {
    /// The kind and the name of the caller, such as `user:alice`.
    pub caller: String,
    /// The id of the request.
    pub request: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The pipeline.
    pub pipeline: Option<String>,
    /// True if the comment names the trace.
    pub has_trace: bool,
}

// === impl CallContext ===

impl CallContext {
    /// Describes a call by its trace, and by a comment if PostgreSQL gets one.
    #[must_use]
    pub fn new(trace: Trace, comment: Option<CallComment>) -> Self {
        if comment.is_none() && trace.id().is_none() {
            return Self::default();
        }
        Self(Some(Arc::new(Context {
            trace,
            comment,
            evidence: None,
        })))
    }

    /// Returns the same context, with the evidence that its statements collect.
    #[must_use]
    pub fn with_evidence(&self, evidence: Evidence) -> Self {
        let context = self.0.as_deref();
        let evidence = Some(evidence);
        Self(Some(Arc::new(Context {
            trace: self.trace(),
            comment: context.and_then(|context| context.comment.clone()),
            evidence,
        })))
    }

    /// Returns the evidence that its statements collect.
    pub(crate) fn evidence(&self) -> Option<&Evidence> {
        self.0.as_ref()?.evidence.as_ref()
    }

    /// Returns the trace of the call, for its requests to providers.
    #[must_use]
    pub fn trace(&self) -> Trace {
        let trace = self.0.as_ref().map(|context| context.trace.clone());
        trace.unwrap_or_default()
    }

    /// Begins the span of a statement.
    #[must_use]
    pub fn begin(&self, database: &str, text: &str) -> Option<StatementSpan> {
        Some(self.0.as_ref()?.trace.statement(database, text))
    }

    /// Returns the comment before a statement with this span.
    #[must_use]
    pub fn comment(&self, span: Option<&StatementSpan>) -> String {
        let Some(comment) = self.0.as_ref().and_then(|call| call.comment.as_ref()) else {
            return String::new();
        };
        let traceparent = span.and_then(StatementSpan::traceparent);
        SqlComment {
            caller: Some(&comment.caller),
            request: comment.request.as_deref(),
            tool: comment.tool.as_deref(),
            pipeline: comment.pipeline.as_deref(),
            traceparent: traceparent.filter(|_| comment.has_trace),
        }
        .to_string()
    }
}
