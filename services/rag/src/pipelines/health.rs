//! `/v1/health`: whether the providers of the pipelines are reachable.
//!
//! Some providers charge for an answer. So a provider that several pipelines share is pinged once,
//! and simultaneous calls that see the same pipelines share one round of pings; a caller that sees
//! none causes no ping. Nothing is cached: the next call pings again. When the last call that waits
//! for a round is dropped, its pings are cancelled.

#[cfg(test)]
mod tests;

use std::{
    fmt,
    panic::AssertUnwindSafe,
    pin::Pin,
    ptr,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use axum::{extract::State, response::Response};
use futures_util::{
    FutureExt as _,
    future::{Shared, WeakShared, join_all},
};
use http::Extensions;
use serde::Serialize;
use tracing::warn;
use utoipa::ToSchema;
use ziggurat_calls::Caller;
use ziggurat_llm::{Class, Completer, Deadline, Embedder, Error, Http};
use ziggurat_runtime::lock;
use ziggurat_sync::{Status as QueueStatus, Watched};

use crate::{
    pipeline::Pipeline,
    pipelines::{Pipelines, Served},
    reply::json,
};

/// Pings the providers of all pipelines.
#[derive(Clone)]
pub(crate) struct HealthCheck {
    inner: Arc<Inner>,
}

struct Inner {
    pipelines: Pipelines,
    timeout: Duration,
    /// At most one round for the same pipelines.
    running: Mutex<Vec<RunningCheck>>,
}

/// A running round of pings.
struct RunningCheck {
    /// Weak, so that replaced pipelines are not kept alive.
    of: Vec<Weak<Pipeline>>,
    /// Weak, so that the round ends with the last call that waits for it.
    round: WeakShared<Round>,
}

// Boxed: there are few rounds at a time.
type Round = Pin<Box<dyn Future<Output = Arc<Report>> + Send>>;

/// The health of the pipelines of a caller.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = HealthResponse)]
struct Report {
    #[schema(inline)]
    status: Status,
    /// The pipelines of the caller, in the order of the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pipelines: Vec<PipelineHealth>,
}

/// `healthy` if all providers of the pipelines of the caller are reachable, vector search works on
/// all of their tables, and those that the server keeps in step can be.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Healthy,
    Degraded,
}

/// The health of one pipeline.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct PipelineHealth {
    /// The name of the pipeline, as used in paths.
    name: String,
    /// The provider that computes the vectors of questions.
    embedding: ProviderHealth,
    /// The model that answers.
    completion: ProviderHealth,
    /// Present only while vector search does not work on a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    search: Option<SearchHealth>,
    /// Present only if the server keeps vectors of tables in step with their texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    sync: Vec<SyncHealth>,
}

/// The queue of a table whose vectors the server keeps in step, some seconds ago.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct SyncHealth {
    /// The name of the table.
    table: String,
    /// False while the queue cannot be read; then there are no figures.
    working: bool,
    /// Rows in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    backlog: Option<u64>,
    /// Age of the oldest change in the queue, in seconds; 0 if the queue is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    oldest_seconds: Option<f64>,
    /// Rows that have failed for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    failed: Option<u64>,
}

/// The state of a pipeline whose tables do not all support vector search.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
struct SearchHealth {
    /// Always false: vector search leaves out one or all of the tables.
    by_meaning: bool,
    /// The reason, in a fixed sentence.
    error: &'static str,
}

/// The health of a provider.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
struct ProviderHealth {
    /// True if the provider responds and accepts the credentials.
    reachable: bool,
    /// The reason if not, as one of a few fixed sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<&'static str>,
}

/// A provider to ping.
#[derive(Clone, Copy)]
enum Target<'a> {
    Embedder(&'a Embedder),
    Completer(&'a Completer),
}

/// Reports the health of the providers
///
/// The status is always 200. Each provider is asked once, by a request without cost where it has
/// one. Where the server wants bearer tokens, a caller without one sees no pipeline here.
#[utoipa::path(get, path = "/health", tag = "System", operation_id = "getHealth",
    responses((status = 200, description = "The result for each provider; a timeout counts as \
        unreachable",
        body = Report)),
)]
pub(crate) async fn health(State(check): State<HealthCheck>, extensions: Extensions) -> Response {
    let seen = check.inner.pipelines.seen_by(&Caller::of(&extensions));
    json(&*check.report(seen).await)
}

// === impl HealthCheck ===

impl HealthCheck {
    /// Pings the providers of these pipelines with a time limit for each round.
    pub(crate) fn new(pipelines: Pipelines, timeout: Duration) -> Self {
        let inner = Inner {
            pipelines,
            timeout,
            running: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the health of the pipelines that a caller sees.
    async fn report(&self, seen: Served) -> Arc<Report> {
        let round = {
            let mut running = lock(&self.inner.running);
            // A check without a waiting caller does not run, and so never ends.
            running.retain(|check| check.round.upgrade().is_some());
            match running.iter().find_map(|check| check.ongoing(&seen)) {
                Some(round) => round,
                None => self.begin(&mut running, seen),
            }
        };
        round.await
    }

    fn begin(&self, running: &mut Vec<RunningCheck>, seen: Served) -> Shared<Round> {
        let inner = Arc::clone(&self.inner);
        let of: Vec<_> = seen.iter().map(Arc::downgrade).collect();
        let round: Round = Box::pin(async move {
            let report = Arc::new(Report::of(&seen, inner.timeout).await);
            // Nothing is cached, so the next call pings again.
            lock(&inner.running).retain(|check| !check.is_of(&seen));
            report
        });
        let round = round.shared();
        running.extend(round.downgrade().map(|round| RunningCheck { of, round }));
        round
    }
}

impl fmt::Debug for HealthCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthCheck")
            .field("pipelines", &self.inner.pipelines)
            .finish_non_exhaustive()
    }
}

// === impl RunningCheck ===

impl RunningCheck {
    fn ongoing(&self, seen: &Served) -> Option<Shared<Round>> {
        self.is_of(seen).then(|| self.round.upgrade())?
    }

    fn is_of(&self, seen: &Served) -> bool {
        let mut pairs = self.of.iter().zip(seen);
        self.of.len() == seen.len()
            && pairs.all(|(own, other)| ptr::eq(own.as_ptr(), Arc::as_ptr(other)))
    }
}

// === impl Report ===

impl Report {
    /// Pings all providers at the same time.
    async fn of(served: &Served, timeout: Duration) -> Self {
        let deadline = Deadline::after(timeout);
        let mut targets: Vec<(Target<'_>, &Http)> = Vec::new();
        let wanted = served.iter().flat_map(|pipeline| {
            [
                Target::Embedder(pipeline.embedder()),
                Target::Completer(pipeline.completer()),
            ]
        });
        for target in wanted {
            let Some(http) = target.http() else { continue };
            if !targets.iter().any(|(_, other)| other.is_same_target(http)) {
                targets.push((target, http));
            }
        }
        let pings = targets.iter().map(|(target, _)| target.ping(deadline));
        let found = join_all(pings).await;
        let health = |target: Target<'_>| {
            let mut asked = targets.iter().zip(&found);
            // Built-in models need no network and are always reachable.
            let Some(http) = target.http() else {
                return ProviderHealth::default();
            };
            let own = asked.find(|((_, other), _)| other.is_same_target(http));
            own.map_or_else(ProviderHealth::default, |(_, health)| *health)
        };
        let pipelines: Vec<_> = served
            .iter()
            .map(|pipeline| PipelineHealth {
                name: pipeline.name().to_owned(),
                embedding: health(Target::Embedder(pipeline.embedder())),
                completion: health(Target::Completer(pipeline.completer())),
                search: (!pipeline.is_sound()).then_some(SearchHealth::BROKEN),
                sync: pipeline.synced().iter().map(SyncHealth::of).collect(),
            })
            .collect();
        let is_sound = pipelines.iter().all(PipelineHealth::is_sound);
        let is_healthy = is_sound && found.iter().all(|health| health.reachable);
        Self {
            status: if is_healthy {
                Status::Healthy
            } else {
                Status::Degraded
            },
            pipelines,
        }
    }
}

// === impl PipelineHealth ===

impl PipelineHealth {
    fn is_sound(&self) -> bool {
        self.search.is_none() && self.sync.iter().all(|sync| sync.working)
    }
}

// === impl SyncHealth ===

impl SyncHealth {
    fn of(watched: &Watched) -> Self {
        let status = watched.latest();
        let age = |status: QueueStatus| status.oldest.unwrap_or_default().as_secs_f64();
        Self {
            table: watched.table().to_owned(),
            working: status.is_some(),
            backlog: status.map(|status| status.backlog),
            oldest_seconds: status.map(|status| (age(status) * 1000.0).round() / 1000.0),
            failed: status.map(|status| status.failed),
        }
    }
}

// === impl SearchHealth ===

impl SearchHealth {
    /// Fixed text, because the log names the table and the reason.
    const BROKEN: Self = Self {
        by_meaning: false,
        error: "a table cannot be searched by meaning; see the log of the server",
    };
}

// === impl ProviderHealth ===

impl ProviderHealth {
    fn unreachable(class: Class) -> Self {
        Self {
            reachable: false,
            error: Some(class.sentence()),
        }
    }
}

/// Returns a provider that is reachable.
impl Default for ProviderHealth {
    fn default() -> Self {
        Self {
            reachable: true,
            error: None,
        }
    }
}

// === impl Target ===

impl<'a> Target<'a> {
    fn http(self) -> Option<&'a Http> {
        match self {
            Self::Embedder(embedder) => embedder.http(),
            Self::Completer(completer) => completer.http(),
        }
    }

    async fn ping(self, deadline: Deadline) -> ProviderHealth {
        let ping = async {
            match self {
                Self::Embedder(embedder) => embedder.ping(deadline).await,
                Self::Completer(completer) => completer.ping(deadline).await,
            }
        };
        let ping = AssertUnwindSafe(ping).catch_unwind();
        match deadline.cut(ping).await {
            Ok(Ok(Ok(()))) => ProviderHealth::default(),
            Ok(Ok(Err(error))) => {
                self.warn(&error);
                ProviderHealth::unreachable(error.class())
            }
            Ok(Err(_)) => ProviderHealth::unreachable(Class::Internal),
            Err(_) => {
                self.warn(&Error::Late);
                ProviderHealth::unreachable(Class::Timeout)
            }
        }
    }

    fn warn(self, error: &Error) {
        let provider = self.http().map(|http| http.provider().name());
        warn!(%error, provider, "a provider is unreachable");
    }
}
