//! Pipelines that answer questions from database tables, and their HTTP interface.
//!
//! A [`Pipeline`] searches its tables for a question, has a model answer from the results, and
//! returns the answer whole or as a stream. The [`service`] serves all pipelines under `/v1/`
//! and reports the health of their providers and the tokens they used.
//!
//! ```
//! use http::Request;
//! use http_body_util::{BodyExt as _, Full};
//! use tower::ServiceExt as _;
//! use ziggurat_rag_service::{self as rag, Options, Pipelines};
//!
//! # tokio_test::block_on(async {
//! let pipelines = Pipelines::new(Vec::new());
//! let service = rag::service(pipelines, Options::default());
//!
//! let request = Request::post("/v1/pipelines/docs").body(Full::<bytes::Bytes>::from("{}"))?;
//! let response = service.oneshot(request).await?;
//! assert_eq!(response.status(), 404);
//! let body = response.into_body().collect().await?.to_bytes();
//! let expected = r#"{"error":{"code":"PIPELINE_NOT_FOUND","message":"pipeline not found: docs"}}"#;
//! assert_eq!(body, format!("{expected}\n"));
//! # Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
//! # }).unwrap();
//! ```
//!
//! The module [`evaluation`] measures a pipeline with questions that have known answers.
//!
//! `examples/pipeline.rs` assembles a pipeline with a database and providers, and serves it.
//!
//! # What the program adds
//!
//! The program adds the `Link` header and turns panics into responses, both with [`ErrorLine`]
//! where they render a body. It opens the audit trail and serves the metrics of an
//! [`Calls`]. It also verifies tokens, if [`Pipelines::with_authentication`] says so: requests
//! then have the [`Identity`] of their caller among their extensions, and
//! a pipeline that is not for this caller does not exist for it.

mod answer;
mod citations;
mod debug;
pub mod evaluation;
mod failure;
pub mod filter;
pub mod mcp;
mod openai;
mod pipeline;
mod pipelines;
mod query;
mod question;
mod reply;
mod request;
pub mod retrieval;
mod stages;
mod stream;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    handler::Handler,
    response::Response,
    routing::{MethodRouter, any, get, post},
};
use http::header;
use serde::Serialize;
use serde_json::Value;
use utoipa::{OpenApi, ToSchema};
use ziggurat_calls::{Calls, limits::Limits};
use ziggurat_http::{Document, body_budget};
use ziggurat_layers::{
    body_limit::{BodyLimitLayer, ByteBudget},
    shutdown::CutOff,
};
use ziggurat_tokens::Identity;

use self::{
    pipelines::{
        console,
        health::{self, HealthCheck},
        stats,
    },
    reply::{Refused, json},
};

pub use self::{
    openai::{CHAT_PATHS, ChatErrors},
    pipeline::{Parts, Pipeline, rerank::Rerank},
    pipelines::Pipelines,
    question::METHODS,
    reply::ErrorLine,
};

/// Path of the OpenAPI document.
pub const DESCRIPTION: &str = "/v1/openapi.json";

/// Default limit on the question, in bytes: embedding models read less.
pub const MAX_QUERY: usize = 65_536;

/// Time limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Limit on an answer, and on the time until the first text of a stream.
    pub request: Duration,
    /// Limit on the time between two messages of a provider in a stream.
    pub stream_idle: Duration,
    /// Limit on a whole stream.
    pub stream_max: Duration,
    /// Limit on the ping of a provider.
    pub ping: Duration,
}

/// Settings of the service.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time limits.
    pub timeouts: Timeouts,
    /// Gives failures of the database error codes of their own.
    pub retrieval_error_codes: bool,
    /// Idle time after which a stream sends a keep-alive comment; `None` sends none.
    pub keep_alive: Option<Duration>,
    /// Limit on the question, in bytes.
    pub max_query: usize,
    /// Budget of the bodies of all requests.
    pub bodies: ByteBudget,
    /// The OpenAPI document, as JSON.
    pub document: &'static str,
    /// Signal that ends streams when the server stops.
    pub cut_off: CutOff,
    /// Limits of callers.
    pub limits: Limits,
    /// Records, measures and traces questions.
    pub calls: Calls,
}

/// OpenAPI description of this server.
#[derive(Debug, OpenApi)]
#[openapi(
    paths(
        live, health::health, pipelines::list, stats::stats, query::query, console::console,
        openai::models, openai::model, openai::chat
    ),
    components(schemas(stream::StreamEvent<'static>))
)]
pub struct Description;

/// Liveness of the server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveResponse)]
struct Live {
    #[schema(inline)]
    status: LiveStatus,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum LiveStatus {
    Ok,
}

/// Serves the pipelines, their statistics and their health.
pub fn service(pipelines: Pipelines, options: Options) -> Router {
    let document = Document::new("application/json", compact(options.document));
    let readiness = pipelines.readiness().clone();
    let check = HealthCheck::new(pipelines.clone(), options.timeouts.ping);
    let health = reading(health::health).with_state(check);
    let state = (pipelines.clone(), Arc::new(options));
    let questions = post(query::query).with_state(state);
    Router::new()
        .route("/v1/pipelines", reading(pipelines::list))
        .route("/v1/stats", reading(stats::stats))
        .with_state(pipelines)
        .route(query::PATH, questions)
        .route("/v1/health", health)
        .route("/v1/live", reading(live))
        .route("/ready", reading(readiness))
        .route(DESCRIPTION, reading(document))
        .fallback(async || Refused::not_found())
        .method_not_allowed_fallback(async || Refused::no_such_method())
}

/// Serves the pipelines as models of the chat completions API of `OpenAI`, for a program that
/// merges these routes with the routes of [`service`].
pub fn chat_service(pipelines: Pipelines, options: Options) -> Router {
    let chat = post(openai::chat).with_state((pipelines.clone(), Arc::new(options)));
    Router::new()
        .route(openai::MODELS, reading(openai::models))
        .route(openai::MODEL, reading(openai::model))
        .with_state(pipelines)
        .route(openai::CHAT, chat)
        .method_not_allowed_fallback(async || Refused::no_such_method())
}

/// Serves the data that a page in a browser shows of the pipelines, for a program that has such a
/// page and merges this route with the routes of [`service`]. The data says whether the program
/// serves [`mcp::PATH`].
pub fn console_service(pipelines: Pipelines, has_mcp: bool) -> Router {
    Router::new()
        .route(console::PATH, reading(console::console))
        .with_state((pipelines, has_mcp))
}

/// Serves a resource that is only read.
pub fn reading<T: 'static, S: Clone + Send + Sync + 'static>(
    handler: impl Handler<T, S>,
) -> MethodRouter<S> {
    let refuse = async || ([(header::ALLOW, "GET, HEAD")], Refused::no_such_method());
    get(handler).fallback(refuse)
}

/// Refuses requests for calls of tools that have another method than POST, which go elsewhere.
pub fn posting<S: Clone + Send + Sync + 'static>() -> MethodRouter<S> {
    any(async || ([(header::ALLOW, "POST")], Refused::no_such_method()))
}

/// Reports whether the server is running
///
/// It does not check providers or databases.
#[utoipa::path(get, path = "/live", tag = "System", operation_id = "getLive",
    responses((status = 200, description = "The server is running", body = Live)),
)]
async fn live() -> Response {
    json(&Live {
        status: LiveStatus::Ok,
    })
}

/// Returns the OpenAPI document on one line, like all JSON of this server.
fn compact(document: &str) -> String {
    let value: serde_json::Result<Value> = serde_json::from_str(document);
    match value {
        Ok(value) => format!("{value}\n"),
        // An empty or invalid document is served unchanged.
        Err(_) => document.to_owned(),
    }
}

// === impl Options ===

impl Options {
    /// Limits the body of a question, and the bodies of all questions together.
    fn body_limit(&self) -> BodyLimitLayer {
        BodyLimitLayer::new(query::MAX_BODY)
            .with_message(query::TOO_LARGE)
            .with_budget(self.bodies.clone(), Identity::body_caller)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            retrieval_error_codes: false,
            keep_alive: None,
            max_query: MAX_QUERY,
            bodies: body_budget(query::MAX_BODY),
            document: "",
            cut_off: CutOff::default(),
            limits: Limits::new(ziggurat_calls::limits::Settings::default()),
            calls: Calls::default(),
        }
    }
}

// === impl Timeouts ===

/// Returns 50 seconds for an answer, one minute of silence, 15 minutes for a stream and three
/// seconds for a ping.
impl Default for Timeouts {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(50),
            stream_idle: Duration::from_mins(1),
            stream_max: Duration::from_mins(15),
            ping: Duration::from_secs(3),
        }
    }
}
