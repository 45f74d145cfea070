//! Times of the stages of a question.

use std::{sync::Arc, time::Instant};

use ziggurat_telemetry::Metrics;

use crate::debug::Recorder;

/// Measures the stages of questions to a pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Stages {
    pipeline: Arc<str>,
    metrics: Metrics,
    recorder: Recorder,
}

/// A stage that runs until this is dropped. Without metrics and a recorder it reads no clock.
#[derive(Debug, Default)]
#[must_use = "a stage ends when it is dropped"]
pub(crate) struct Stage(Option<Running>);

#[derive(Debug)]
struct Running {
    stages: Stages,
    stage: &'static str,
    began: Instant,
}

// === impl Stages ===

impl Stages {
    pub(crate) fn new(pipeline: &str) -> Self {
        Self {
            pipeline: pipeline.into(),
            metrics: Metrics::off(),
            recorder: Recorder::default(),
        }
    }

    pub(crate) fn with_metrics(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// Returns them for one question, and records the details of this question.
    pub(crate) fn with_recorder(&self, recorder: Recorder) -> Self {
        Self {
            recorder,
            ..self.clone()
        }
    }

    /// Returns the name of the pipeline.
    pub(crate) fn pipeline(&self) -> &str {
        &self.pipeline
    }

    /// Returns the recorder of the details of a question.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Begins a stage: `embed`, `vector`, `keyword`, `rerank` or `model`.
    pub(crate) fn begin(&self, stage: &'static str) -> Stage {
        let is_on = self.metrics.is_on() || self.recorder.is_on();
        Stage(is_on.then(|| Running {
            stages: self.clone(),
            stage,
            began: Instant::now(),
        }))
    }

    /// Begins a stage that is recorded only with the details of a question: `rewrite`, `fuse`, `expand`
    /// or `prompt`.
    pub(crate) fn begin_detail(&self, stage: &'static str) -> Stage {
        let stages = Self {
            metrics: Metrics::off(),
            ..self.clone()
        };
        stages.begin(stage)
    }
}

// === impl Stage ===

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(running) = &self.0 {
            let Running {
                stages,
                stage,
                began,
            } = running;
            let duration = began.elapsed();
            stages.metrics.pipeline(&stages.pipeline, stage, duration);
            stages.recorder.time(stage, duration);
        }
    }
}
