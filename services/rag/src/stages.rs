//! Times of the stages of a question.

use std::{sync::Arc, time::Instant};

use ziggurat_telemetry::Metrics;

/// Measures the stages of questions to a pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Stages {
    pipeline: Arc<str>,
    metrics: Metrics,
}

/// A stage that runs until this is dropped. Without metrics it reads no clock.
#[derive(Debug, Default)]
#[must_use = "a stage ends when it is dropped"]
pub(crate) struct Stage(Option<(Stages, &'static str, Instant)>);

// === impl Stages ===

impl Stages {
    pub(crate) fn new(pipeline: &str) -> Self {
        Self {
            pipeline: pipeline.into(),
            metrics: Metrics::off(),
        }
    }

    pub(crate) fn with_metrics(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// Returns the name of the pipeline.
    pub(crate) fn pipeline(&self) -> &str {
        &self.pipeline
    }

    /// Begins a stage: `embed`, `vector`, `keyword`, `rerank` or `model`.
    pub(crate) fn begin(&self, stage: &'static str) -> Stage {
        let is_on = self.metrics.is_on();
        Stage(is_on.then(|| (self.clone(), stage, Instant::now())))
    }
}

// === impl Stage ===

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some((stages, stage, began)) = &self.0 {
            let duration = began.elapsed();
            stages.metrics.pipeline(&stages.pipeline, stage, duration);
        }
    }
}
