//! The pipelines that are served.

use std::{convert::Infallible, error::Error, fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use axum::{extract::State, response::Response};
use futures_util::future;
use serde::Serialize;
use tokio::sync::Notify;
use utoipa::ToSchema;
use ziggurat_http::Readiness;

use super::{pipeline::Pipeline, reply::json};

/// The pipelines that are served now, in the order of the configuration. Clones share them.
#[derive(Clone)]
pub struct Pipelines {
    served: Arc<ArcSwap<Served>>,
    replaced: Arc<Notify>,
    readiness: Readiness,
}

/// The pipelines of one configuration.
pub(super) type Served = Vec<Arc<Pipeline>>;

/// The list of pipelines.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PipelinesResponse)]
struct Listing {
    /// All pipelines, in the order of the configuration.
    #[schema(inline = false)]
    pipelines: Vec<PipelineInfo>,
}

/// A pipeline.
#[derive(Debug, Serialize, ToSchema)]
struct PipelineInfo {
    /// The name of the pipeline, as used in paths.
    name: String,
    /// A description for users; empty if there is none.
    #[schema(required = false)]
    description: String,
}

// === impl Pipelines ===

impl Pipelines {
    /// Serves these pipelines.
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

    /// Returns the readiness of each pipeline, for `/ready`.
    #[must_use]
    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Checks every pipeline periodically and records which of them can serve: those whose database
    /// responds and has at least one table that can be searched with vectors of the model. A model
    /// with unknown dimensions is asked for a vector, within the time limit.
    pub async fn watch(self, timeout: Duration) -> Infallible {
        loop {
            let replaced = self.replaced.notified();
            let served = self.now();
            let round = async {
                let probes = served.iter().map(|pipeline| self.probe(pipeline, timeout));
                future::join_all(probes).await;
                self.readiness.pause().await;
            };
            tokio::select! {
                () = round => {}
                () = replaced => {}
            }
        }
    }

    async fn probe(&self, pipeline: &Pipeline, timeout: Duration) {
        let found = pipeline.probe(timeout).await;
        let found = match &found {
            Ok(()) => Ok(()),
            Err(probe_error) => Err(probe_error as &(dyn Error + 'static)),
        };
        self.readiness.note(pipeline.name(), found);
    }

    /// Replaces all pipelines at once. Running requests keep the pipelines they started with, which
    /// are dropped after the last of these requests.
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

/// Lists the pipelines
#[utoipa::path(get, path = "/pipelines", tag = "Pipelines", operation_id = "listPipelines",
    responses((status = 200, description = "The pipelines, in the order of the \
        configuration", body = Listing)),
)]
pub(super) async fn list(State(pipelines): State<Pipelines>) -> Response {
    let served = pipelines.now();
    let entries = served.iter().map(|pipeline| PipelineInfo {
        name: pipeline.name().to_owned(),
        description: pipeline.description().to_owned(),
    });
    json(&Listing {
        pipelines: entries.collect(),
    })
}

fn shared(list: Vec<Pipeline>) -> Served {
    list.into_iter().map(Arc::new).collect()
}
