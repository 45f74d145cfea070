//! `/v1/health`: whether the providers of the pipelines are there.
//!
//! Some providers charge for an answer, and the endpoint has no authentication. So a provider that
//! pipelines share is pinged once, and calls at the same time share one round of pings. Nothing is
//! kept after it: the next call pings anew. When the last call that waits for a round goes away, so
//! do its pings.

#[cfg(test)]
mod tests;

use std::{
    fmt,
    panic::AssertUnwindSafe,
    pin::Pin,
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{Shared, WeakShared, join_all},
};
use serde::Serialize;
use tracing::warn;
use utoipa::ToSchema;
use ziggurat_llm::{Class, Completer, Deadline, Embedder, Error, Http};

use super::pipelines::{Pipelines, Served};

/// Finds out how the providers are.
#[derive(Clone)]
pub(super) struct Pulse {
    inner: Arc<Inner>,
}

struct Inner {
    pipelines: Pipelines,
    patience: Duration,
    latest: Mutex<Option<Latest>>,
}

/// The round that runs.
struct Latest {
    /// Weak: pipelines that are served no more are not kept for it.
    of: Weak<Served>,
    /// Weak: it ends with those who wait for it.
    round: WeakShared<Round>,
}

// Boxed: one per round, and there is one round at a time.
type Round = Pin<Box<dyn Future<Output = Arc<Report>> + Send>>;

/// How the providers are.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = HealthResponse)]
pub(super) struct Report {
    #[schema(inline)]
    status: Status,
    /// All pipelines, in the order of the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pipelines: Vec<PipelineHealth>,
}

/// `healthy` if all providers are reachable and all tables can be searched by meaning.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Healthy,
    Degraded,
}

/// How the providers of a pipeline are.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct PipelineHealth {
    /// What it is called in paths.
    name: String,
    /// Who makes vectors of questions.
    embedding: ProviderHealth,
    /// Who answers.
    completion: ProviderHealth,
    /// Only there while a table cannot be searched by meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    search: Option<SearchHealth>,
}

/// A pipeline that cannot search all its tables by meaning.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
struct SearchHealth {
    /// False: a search by meaning leaves out a table, or all of them.
    by_meaning: bool,
    /// The reason, in a fixed sentence.
    error: &'static str,
}

/// How a provider is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
struct ProviderHealth {
    /// Whether it is there, and lets us in.
    reachable: bool,
    /// Why not, in one of a few fixed sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<&'static str>,
}

/// Somebody who is asked.
#[derive(Clone, Copy)]
enum Target<'a> {
    Embedder(&'a Embedder),
    Completer(&'a Completer),
}

/// How the providers are
///
/// It is 200 whatever they say. Each is asked once, for something that costs nothing where it has
/// such a thing.
#[utoipa::path(get, path = "/health", tag = "System", operation_id = "getHealth",
    responses((status = 200, description = "What they said, or did not say in time",
        body = Report)),
)]
pub(super) async fn health(pulse: &Pulse) -> Arc<Report> {
    pulse.report().await
}

// === impl Pulse ===

impl Pulse {
    /// Asks the providers of these, and waits for each so long.
    pub(super) fn new(pipelines: Pipelines, patience: Duration) -> Self {
        let latest = Mutex::default();
        let inner = Inner {
            pipelines,
            patience,
            latest,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    async fn report(&self) -> Arc<Report> {
        let served = self.inner.pipelines.now();
        let round = {
            let mut latest = self.inner.latest();
            match latest.as_ref().and_then(|latest| latest.ongoing(&served)) {
                Some(round) => round,
                None => self.begin(&mut latest, served),
            }
        };
        round.await
    }

    fn begin(&self, latest: &mut Option<Latest>, served: Arc<Served>) -> Shared<Round> {
        let inner = Arc::clone(&self.inner);
        let of = Arc::downgrade(&served);
        let own = Weak::clone(&of);
        let round: Round = Box::pin(async move {
            let report = Arc::new(Report::of(&served, inner.patience).await);
            // The next call pings anew.
            let is_own = |latest: &mut Latest| Weak::ptr_eq(&latest.of, &own);
            inner.latest().take_if(is_own);
            report
        });
        let round = round.shared();
        *latest = round.downgrade().map(|round| Latest { of, round });
        round
    }
}

impl fmt::Debug for Pulse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pulse")
            .field("pipelines", &self.inner.pipelines)
            .finish_non_exhaustive()
    }
}

// === impl Inner ===

impl Inner {
    fn latest(&self) -> MutexGuard<'_, Option<Latest>> {
        // Nothing panics while holding it.
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Latest ===

impl Latest {
    fn ongoing(&self, served: &Arc<Served>) -> Option<Shared<Round>> {
        let is_same = ptr::eq(self.of.as_ptr(), Arc::as_ptr(served));
        is_same.then(|| self.round.upgrade())?
    }
}

// === impl Report ===

impl Report {
    /// Asks everybody at the same time.
    async fn of(served: &Served, patience: Duration) -> Self {
        let deadline = Deadline::after(patience);
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
            // Whoever is no provider is always there.
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
            })
            .collect();
        let is_sound = pipelines.iter().all(|pipeline| pipeline.search.is_none());
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

// === impl SearchHealth ===

impl SearchHealth {
    /// The log names the table and what is wrong with it.
    const BROKEN: Self = Self {
        by_meaning: false,
        error: "a table cannot be searched by meaning; the log of the server says why",
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

/// It is there.
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
        warn!(%error, provider, "a provider cannot be reached");
    }
}
