//! Metrics and spans of the calls to providers.

use std::time::Instant;

use ziggurat_telemetry::{
    Metrics,
    traces::{ProviderSpan, Trace},
};

use crate::{Error, Http, Usage};

/// A call to a provider that is measured and traced. Dropped before its end, it counts as cancelled.
#[derive(Debug)]
#[must_use = "a call is measured when it ends"]
pub(super) struct MeasuredCall {
    http: Http,
    running: Option<Running>,
    /// Present until the end.
    span: Option<ProviderSpan>,
}

#[derive(Debug)]
struct Running {
    metrics: Metrics,
    provider: &'static str,
    kind: &'static str,
    began: Instant,
}

/// End of a call that its caller did not wait for.
const CANCELLED: &str = "cancelled";

// === impl Http ===

impl Http {
    /// Begins a `completion`, an `embedding` or a `rerank`.
    pub(super) fn begin(&self, kind: &'static str, trace: &Trace) -> MeasuredCall {
        let metrics = self.metrics();
        let running = metrics.is_on().then(|| Running {
            metrics: metrics.clone(),
            provider: self.provider().name(),
            kind,
            began: Instant::now(),
        });
        let mut call = self.begin_unmeasured(trace);
        call.running = running;
        call
    }

    /// Begins a call that has a span only.
    pub(super) fn begin_unmeasured(&self, trace: &Trace) -> MeasuredCall {
        let span = trace.provider(self.provider().name());
        MeasuredCall {
            http: self.with_trace_of(&span),
            running: None,
            span: Some(span),
        }
    }
}

// === impl MeasuredCall ===

impl MeasuredCall {
    /// Returns the client for the requests of the call.
    pub(super) fn http(&self) -> &Http {
        &self.http
    }

    /// Records the end of the call, and the tokens that it used. Only the first end counts.
    pub(super) fn end(&mut self, result: Result<Usage, &Error>) {
        if let (Some(mut span), Err(error)) = (self.span.take(), result) {
            span.set_error(error_type(error));
        }
        let Some(running) = self.running.take() else {
            return;
        };
        if let Ok(usage) = result {
            running.metrics.tokens(
                running.provider,
                usage.prompt_tokens,
                usage.completion_tokens,
            );
        }
        running.end(match result {
            Ok(_) => "ok",
            Err(Error::Slow | Error::Late) => "timeout",
            Err(_) => "error",
        });
    }
}

impl Drop for MeasuredCall {
    fn drop(&mut self) {
        if let Some(mut span) = self.span.take() {
            span.set_error(CANCELLED);
        }
        if let Some(running) = self.running.take() {
            running.end(CANCELLED);
        }
    }
}

// === impl Running ===

impl Running {
    fn end(&self, outcome: &str) {
        let duration = self.began.elapsed();
        self.metrics
            .provider(self.provider, self.kind, outcome, duration);
    }
}

/// Returns the status of a response, or a word. It is never text of a provider.
fn error_type(error: &Error) -> &str {
    match error {
        Error::Refused(refusal) => refusal.status_text(),
        Error::Slow | Error::Late => "timeout",
        Error::Unreachable(_) => "unreachable",
        Error::Incomplete(_) | Error::Malformed(_) | Error::NoChoices | Error::Empty => "malformed",
        Error::Reported { .. } => "reported",
        Error::NoRoom | Error::Unsupported(_) | Error::Invalid(_) => "_OTHER",
    }
}
