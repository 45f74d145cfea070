//! What tests of clients need: a service that fails when it is told to, and a clock that can be
//! moved.
//!
//! Whoever can reach a service with these can make it fail, so they are for tests alone.
//!
//! | Request | What it does |
//! | --- | --- |
//! | `POST /test/v1/next` | has one of the next requests end as the body says (below) |
//! | `POST /test/v1/clock` | `{"advance": 60}` moves a clock that stands still by a minute |
//! | `DELETE /test/v1/next` | forgets what was said about the next requests |
//!
//! | Member | Says |
//! | --- | --- |
//! | `path` | whose path begins so; any if it is not there |
//! | `times` | how many requests; one if it is not there |
//! | `delay_ms` | to wait first |
//! | `close` | to close the connection instead of answering |
//! | `status` | to answer with this |
//! | `body`, `content_type` | what to answer then: JSON with a code, if they are not there |
//! | `retry_after` | the value of that header |

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::post,
};
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use ziggurat_accounts::WallClock;
use ziggurat_layers::reject::{Rejection, Render as _};

use super::Coded;

/// How many plans there may be.
const MAX_PLANS: usize = 256;

/// What is to go wrong. Clones share it.
#[derive(Clone, Debug)]
pub struct Hooks {
    plans: Arc<Mutex<VecDeque<Plan>>>,
    clock: WallClock,
}

/// How a request is to end.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Plan {
    path: Option<String>,
    times: Option<u32>,
    delay_ms: u64,
    close: bool,
    status: Option<u16>,
    body: Option<String>,
    content_type: Option<String>,
    retry_after: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Advance {
    advance: u64,
}

// === impl Hooks ===

impl Hooks {
    /// Nothing goes wrong yet. The clock is the one the service goes by.
    #[must_use]
    pub fn new(clock: WallClock) -> Self {
        Self {
            plans: Arc::default(),
            clock,
        }
    }

    /// Has a service do what tests say.
    pub fn on(self, service: Router) -> Router {
        let controls = Router::new()
            .route("/test/v1/next", post(plan).delete(forget))
            .route("/test/v1/clock", post(advance))
            .with_state(self.clone());
        service
            .layer(from_fn_with_state(self, interfere))
            .merge(controls)
    }

    fn plans(&self) -> MutexGuard<'_, VecDeque<Plan>> {
        // Nothing panics while holding it.
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first plan for a path, which is one of its times nearer to its end.
    fn plan_for(&self, path: &str) -> Option<Plan> {
        let mut plans = self.plans();
        let fits = |plan: &Plan| plan.path.as_ref().is_none_or(|p| path.starts_with(p));
        let at = plans.iter().position(fits)?;
        let plan = &mut plans[at];
        let left = plan.times.unwrap_or(1).saturating_sub(1);
        if left == 0 {
            return plans.remove(at);
        }
        plan.times = Some(left);
        Some(plan.clone())
    }
}

// === impl Plan ===

impl Plan {
    fn response(self, status: StatusCode) -> Response {
        let forced = Rejection::new(status, "forced", "a test wants it so");
        let mut response: Response = match self.body {
            Some(body) => Response::new(Body::from(body)),
            None => Coded.render(&forced),
        };
        *response.status_mut() = status;
        let headers = [
            (header::CONTENT_TYPE, self.content_type),
            (header::RETRY_AFTER, self.retry_after),
        ];
        for (name, value) in headers {
            if let Some(Ok(value)) = value.map(HeaderValue::try_from) {
                response.headers_mut().insert(name, value);
            }
        }
        // It was written for the client, whatever its status.
        response.extensions_mut().insert(forced);
        response
    }
}

async fn plan(State(hooks): State<Hooks>, Json(plan): Json<Plan>) -> StatusCode {
    let mut plans = hooks.plans();
    if plans.len() == MAX_PLANS {
        return StatusCode::INSUFFICIENT_STORAGE;
    }
    plans.push_back(plan);
    StatusCode::NO_CONTENT
}

async fn forget(State(hooks): State<Hooks>) -> StatusCode {
    hooks.plans().clear();
    StatusCode::NO_CONTENT
}

async fn advance(State(hooks): State<Hooks>, Json(by): Json<Advance>) -> StatusCode {
    hooks.clock.advance(Duration::from_secs(by.advance));
    StatusCode::NO_CONTENT
}

async fn interfere(State(hooks): State<Hooks>, request: Request, next: Next) -> Response {
    let Some(plan) = hooks.plan_for(request.uri().path()) else {
        return next.run(request).await;
    };
    tokio::time::sleep(Duration::from_millis(plan.delay_ms)).await;
    if plan.close {
        // A body that breaks off takes the connection with it.
        let end: io::Result<bytes::Bytes> = Err(io::ErrorKind::ConnectionAborted.into());
        return Response::new(Body::from_stream(stream::iter([end])));
    }
    match plan.status.map(StatusCode::from_u16) {
        Some(Ok(status)) => plan.response(status),
        _ => next.run(request).await,
    }
}
