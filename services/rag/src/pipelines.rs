//! The pipelines that are served.

pub(crate) mod console;
pub(crate) mod health;
pub(crate) mod stats;

use std::{convert::Infallible, error::Error, fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use axum::{extract::State, response::Response};
use futures_util::future;
use http::Extensions;
use serde::Serialize;
use tokio::sync::Notify;
use utoipa::ToSchema;
use ziggurat_calls::Caller;
use ziggurat_http::Readiness;

use crate::{
    failure::log_not_open,
    pipeline::Pipeline,
    reply::{ErrorResponse, json},
};

/// The pipelines that are served now, in the order of the configuration. Clones share them.
#[derive(Clone)]
pub struct Pipelines {
    served: Arc<ArcSwap<Served>>,
    replaced: Arc<Notify>,
    readiness: Readiness,
    /// True if callers have identities, so that one without sees no pipeline.
    is_authenticated: bool,
}

/// The pipeline that a caller names.
pub(super) enum FoundPipeline {
    /// It may use it.
    Seen(Arc<Pipeline>),
    /// It exists for this caller, and its database is not open to it.
    Closed,
    /// It is not for this caller, for which it does not exist. Only the audit trail tells.
    Hidden,
    /// It does not exist.
    Absent,
}

/// The pipelines of one configuration, or only the ones that a caller sees.
pub(super) type Served = Vec<Arc<Pipeline>>;

/// The list of pipelines.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PipelinesResponse)]
struct Listing {
    /// The pipelines of the caller, in the order of the configuration.
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
            is_authenticated: false,
        }
    }

    /// Shows no pipeline to a request without an identity.
    #[must_use]
    pub fn with_authentication(self) -> Self {
        Self {
            is_authenticated: true,
            ..self
        }
    }

    /// Returns the readiness of each pipeline, for `/ready`.
    #[must_use]
    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Checks every pipeline periodically and records which of them can serve. A pipeline can serve
    /// if its database responds and has at least one table that can be searched with vectors of the
    /// model. A model with unknown dimensions is asked for a vector, within the time limit.
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

    fn now(&self) -> Arc<Served> {
        self.served.load_full()
    }

    /// Returns the pipelines that a caller sees.
    pub(super) fn seen_by(&self, caller: &Caller<'_>) -> Served {
        let mut seen = Served::clone(&self.now());
        seen.retain(|pipeline| self.shows(pipeline, caller));
        seen
    }

    /// Finds the pipeline that a caller names. Its statements run with the role and settings of the
    /// caller, where the database knows its callers.
    pub(super) fn find(&self, name: &str, caller: &Caller<'_>) -> FoundPipeline {
        let served = self.served.load();
        match served.iter().find(|pipeline| pipeline.name() == name) {
            Some(found) if self.shows(found, caller) => match found.asked_by(caller.identity) {
                Ok(None) => FoundPipeline::Seen(Arc::clone(found)),
                Ok(Some(asked)) => FoundPipeline::Seen(Arc::new(asked)),
                Err(closed) => {
                    log_not_open(name, closed);
                    FoundPipeline::Closed
                }
            },
            Some(_) => FoundPipeline::Hidden,
            None => FoundPipeline::Absent,
        }
    }

    /// Returns whether a pipeline exists for a caller. Everything that lists pipelines or finds one
    /// asks here.
    fn shows(&self, pipeline: &Pipeline, caller: &Caller<'_>) -> bool {
        let is_known = caller.identity.is_some() || !self.is_authenticated;
        is_known && pipeline.is_for(&caller.id())
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
    responses(
        (status = 200, description = "The pipelines of the caller, in the order of the \
            configuration", body = Listing),
        (status = 401, description = "The server wants a bearer token", body = ErrorResponse),
    ),
)]
pub(super) async fn list(State(pipelines): State<Pipelines>, extensions: Extensions) -> Response {
    let seen = pipelines.seen_by(&Caller::of(&extensions));
    let entries = seen.iter().map(|pipeline| PipelineInfo {
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
