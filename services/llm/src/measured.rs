//! Metrics of the calls to providers.

use std::time::Instant;

use ziggurat_telemetry::Metrics;

use super::{Error, Http, Usage};

/// A call to a provider that is measured. Dropped before its end, it counts as cancelled.
#[derive(Debug)]
#[must_use = "a call is measured when it ends"]
pub(super) struct MeasuredCall(Option<Running>);

#[derive(Debug)]
struct Running {
    metrics: Metrics,
    provider: &'static str,
    kind: &'static str,
    began: Instant,
}

// === impl Http ===

impl Http {
    /// Begins a `completion`, an `embedding` or a `rerank`.
    pub(super) fn begin(&self, kind: &'static str) -> MeasuredCall {
        let metrics = self.metrics();
        MeasuredCall(metrics.is_on().then(|| Running {
            metrics: metrics.clone(),
            provider: self.provider().name(),
            kind,
            began: Instant::now(),
        }))
    }
}

// === impl MeasuredCall ===

impl MeasuredCall {
    /// Records the end of the call, and the tokens that it used.
    pub(super) fn end(&mut self, result: Result<Usage, &Error>) {
        let Some(running) = self.0.take() else { return };
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
        if let Some(running) = self.0.take() {
            running.end("cancelled");
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
