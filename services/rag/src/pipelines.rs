//! The pipelines that are served.

use std::{convert::Infallible, error::Error, fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use futures_util::future;
use serde::Serialize;
use tokio::sync::Notify;
use utoipa::ToSchema;
use ziggurat_http::serve::Readiness;

use super::pipeline::Pipeline;

/// The pipelines that are served now, in the order of the configuration. Clones are the same.
#[derive(Clone)]
pub struct Pipelines {
    served: Arc<ArcSwap<Served>>,
    replaced: Arc<Notify>,
    readiness: Readiness,
}

/// The pipelines of one configuration.
pub(super) type Served = Vec<Arc<Pipeline>>;

/// The pipelines there are.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PipelinesResponse)]
pub(super) struct Listing {
    /// All of them, in the order of the configuration.
    #[schema(inline = false)]
    pipelines: Vec<PipelineInfo>,
}

/// A pipeline.
#[derive(Debug, Serialize, ToSchema)]
struct PipelineInfo {
    /// What it is called in paths.
    name: String,
    /// What it is, for people; empty if nobody has said.
    #[schema(required = false)]
    description: String,
}

// === impl Pipelines ===

impl Pipelines {
    /// Serves these.
    #[must_use]
    pub fn new(list: Vec<Pipeline>) -> Self {
        let readiness = Readiness::new("pipeline");
        readiness.set_parts(list.iter().map(Pipeline::name));
        Self {
            served: Arc::new(ArcSwap::from_pointee(shared(list))),
            replaced: Arc::default(),
            readiness,
        }
    }

    /// Notes which pipelines can serve, for `/ready`.
    #[must_use]
    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Checks every pipeline again and again, and notes which of them can serve: those whose
    /// database answers, and of whose tables one can be searched with the vectors of their model.
    /// A model that has made no vector yet is asked for one, for so long at most.
    pub async fn watch(self, patience: Duration) -> Infallible {
        loop {
            let replaced = self.replaced.notified();
            let served = self.now();
            let round = async {
                let probes = served.iter().map(|pipeline| self.probe(pipeline, patience));
                future::join_all(probes).await;
                self.readiness.pause().await;
            };
            tokio::select! {
                () = round => {}
                () = replaced => {}
            }
        }
    }

    async fn probe(&self, pipeline: &Pipeline, patience: Duration) {
        let found = pipeline.probe(patience).await;
        let found = match &found {
            Ok(()) => Ok(()),
            Err(obstacle) => Err(obstacle as &(dyn Error + 'static)),
        };
        self.readiness.note(pipeline.name(), found);
    }

    /// Serves these from now on, all at once. Requests that have begun keep those they began
    /// with, which go when the last of them ends.
    pub fn replace(&self, list: Vec<Pipeline>) {
        self.readiness.set_parts(list.iter().map(Pipeline::name));
        self.served.store(Arc::new(shared(list)));
        self.replaced.notify_waiters();
    }

    pub(super) fn now(&self) -> Arc<Served> {
        self.served.load_full()
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Pipeline>> {
        let served = self.served.load();
        let found = served.iter().find(|pipeline| pipeline.name() == name);
        found.cloned()
    }
}

impl fmt::Debug for Pipelines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let served = self.now();
        let names = served.iter().map(|pipeline| pipeline.name());
        f.debug_list().entries(names).finish()
    }
}

/// Which pipelines there are
#[utoipa::path(get, path = "/pipelines", tag = "Pipelines", operation_id = "listPipelines",
    responses((status = 200, description = "In the order of the configuration", body = Listing)),
)]
pub(super) fn list(pipelines: &Pipelines) -> Listing {
    let served = pipelines.now();
    let entries = served.iter().map(|pipeline| PipelineInfo {
        name: pipeline.name().to_owned(),
        description: pipeline.description().to_owned(),
    });
    Listing {
        pipelines: entries.collect(),
    }
}

fn shared(list: Vec<Pipeline>) -> Served {
    list.into_iter().map(Arc::new).collect()
}
