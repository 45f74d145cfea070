//! Figures of the queues that the server works on, for the metrics.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use ziggurat_runtime::lock;
use ziggurat_sync::{Status, Watched};
use ziggurat_telemetry::SyncCount;

/// The queues of the pipelines that are served now.
#[derive(Clone, Debug, Default)]
pub(crate) struct SyncFigures(Arc<Mutex<BTreeMap<String, Vec<Watched>>>>);

// === impl SyncFigures ===

impl SyncFigures {
    /// Replaces the queues, by the name of the pipeline.
    pub(super) fn replace(&self, queues: BTreeMap<String, Vec<Watched>>) {
        *lock(&self.0) = queues;
    }

    /// Returns the figures of each pipeline; none while a queue cannot be read.
    pub(crate) fn counts(&self) -> Vec<SyncCount> {
        let queues = lock(&self.0);
        let counts = queues.iter().filter_map(|(pipeline, watched)| {
            let figures: Option<Vec<_>> = watched.iter().map(Watched::latest).collect();
            let figures = figures.filter(|figures| !figures.is_empty())?;
            let age = |status: &Status| status.oldest.unwrap_or_default().as_secs();
            Some(SyncCount {
                pipeline: pipeline.clone(),
                backlog: figures.iter().map(|status| status.backlog).sum(),
                oldest: figures.iter().map(age).max().unwrap_or_default(),
                failed: figures.iter().map(|status| status.failed).sum(),
            })
        });
        counts.collect()
    }
}
