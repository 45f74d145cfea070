//! Hooks for tests of clients: responses can be made to fail, and the clock can be moved.
//!
//! Any client that reaches a service with these hooks can make it fail: for tests only.
//!
//! | Request | Effect |
//! | --- | --- |
//! | `POST /test/v1/next` | changes the response to one of the next requests (see below) |
//! | `POST /test/v1/clock` | `{"advance": 60}` moves a stopped clock forward by a minute |
//! | `DELETE /test/v1/next` | removes all planned responses |
//!
//! | Member | Meaning |
//! | --- | --- |
//! | `path` | prefix of the request path; any path by default |
//! | `times` | number of requests; one by default |
//! | `delay_ms` | delay before the response |
//! | `close` | close the connection instead of answering |
//! | `status` | status of the response |
//! | `body`, `content_type` | body of that response; JSON with a code by default |
//! | `retry_after` | value of the `Retry-After` header |

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex},
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
use ziggurat_layers::reject::{Rejection, Render as _};
use ziggurat_runtime::lock;
use ziggurat_tokens::WallClock;

use crate::ErrorFormat;

/// Maximum number of planned responses.
const MAX_PLANS: usize = 256;

/// Planned failures, and the clock. Clones share both.
#[derive(Clone, Debug)]
pub struct Hooks {
    plans: Arc<Mutex<VecDeque<Plan>>>,
    clock: WallClock,
}

/// A planned response.
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
struct AdvanceClock {
    advance: u64,
}

// === impl Hooks ===

impl Hooks {
    /// Plans no failures. The service must use the same clock.
    #[must_use]
    pub fn new(clock: WallClock) -> Self {
        Self {
            plans: Arc::default(),
            clock,
        }
    }

    /// Adds the hooks to a service.
    pub fn on(self, service: Router) -> Router {
        let controls = Router::new()
            .route("/test/v1/next", post(plan).delete(forget))
            .route("/test/v1/clock", post(advance))
            .with_state(self.clone());
        service
            .layer(from_fn_with_state(self, apply_plan))
            .merge(controls)
    }

    /// Returns the first plan for a path and counts it as used once.
    fn plan_for(&self, path: &str) -> Option<Plan> {
        let mut plans = lock(&self.plans);
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
        let forced = Rejection::new(status, "forced", "a test requested it");
        let mut response: Response = match self.body {
            Some(body) => Response::new(Body::from(body)),
            None => ErrorFormat.render(&forced),
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
        // Marks the response as a rejection, so that its body is not replaced.
        response.extensions_mut().insert(forced);
        response
    }
}

async fn plan(State(hooks): State<Hooks>, Json(plan): Json<Plan>) -> StatusCode {
    let mut plans = lock(&hooks.plans);
    if plans.len() == MAX_PLANS {
        return StatusCode::INSUFFICIENT_STORAGE;
    }
    plans.push_back(plan);
    StatusCode::NO_CONTENT
}

async fn forget(State(hooks): State<Hooks>) -> StatusCode {
    lock(&hooks.plans).clear();
    StatusCode::NO_CONTENT
}

async fn advance(State(hooks): State<Hooks>, Json(by): Json<AdvanceClock>) -> StatusCode {
    hooks.clock.advance(Duration::from_secs(by.advance));
    StatusCode::NO_CONTENT
}

async fn apply_plan(State(hooks): State<Hooks>, request: Request, next: Next) -> Response {
    let Some(plan) = hooks.plan_for(request.uri().path()) else {
        return next.run(request).await;
    };
    tokio::time::sleep(Duration::from_millis(plan.delay_ms)).await;
    if plan.close {
        // A body that fails closes the connection.
        let end: io::Result<bytes::Bytes> = Err(io::ErrorKind::ConnectionAborted.into());
        return Response::new(Body::from_stream(stream::iter([end])));
    }
    match plan.status.map(StatusCode::from_u16) {
        Some(Ok(status)) => plan.response(status),
        _ => next.run(request).await,
    }
}
