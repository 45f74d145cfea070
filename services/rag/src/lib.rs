//! Pipelines that answer questions from tables: what they do, and how they are asked over HTTP.
//!
//! A [`Pipeline`] finds what its tables hold about a question, has a model
//! answer from that, and sends the answer whole or as it comes. The [`service`] serves all of
//! them under `/v1/`, says how their providers are and what they have cost, and has a page to
//! ask them on.
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
//! # What stands around it
//!
//! The program adds the `Link` header and turns panics into answers, both with [`ErrorLine`]
//! where they render anything. Nobody is asked who they are: that is for a proxy in front.

mod answer;
mod ask;
mod failure;
pub mod filter;
mod handler;
mod health;
mod page;
mod pipeline;
mod pipelines;
mod prompt;
mod query;
mod reply;
mod rerank;
pub mod retrieval;
mod stats;
mod stream;
#[cfg(test)]
mod tests;
mod whole;

use std::{convert::Infallible, error::Error, future::ready, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Body;
use serde::Serialize;
use serde_json::Value;
use tower_service::Service;
use utoipa::{OpenApi, ToSchema};
use ziggurat_http::{Document, EitherBody, Routes, serve::Ready, sse::EventStream};
use ziggurat_runtime::cut_off::CutOff;

use self::{handler::Handler, health::Pulse, whole::Whole};

pub use self::{
    pipeline::{Parts, Pipeline},
    pipelines::Pipelines,
    reply::ErrorLine,
    rerank::Rerank,
};

/// Where the description of the interface is.
pub const DESCRIPTION: &str = "/v1/openapi.json";

/// The longest question unless the operator says otherwise, in bytes: embedding models read less.
pub const MAX_QUERY: usize = 65_536;

/// A response of this server: whole, or as it comes.
type Responded<S> = Response<EitherBody<Whole, EventStream<S>>>;

type BoxError = Box<dyn Error + Send + Sync>;

/// How long things may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// An answer, and a stream until its first words.
    pub request: Duration,
    /// The silence between two things a provider says in a stream.
    pub stream_idle: Duration,
    /// A stream, all of it.
    pub stream_max: Duration,
    /// A provider that is asked how it is.
    pub ping: Duration,
}

/// How pipelines are served.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long things may take.
    pub patience: Timeouts,
    /// Whether a database that fails has codes of its own in errors.
    pub retrieval_error_codes: bool,
    /// After how long a silence a stream says that it is still there; never if not said.
    pub keep_alive: Option<Duration>,
    /// The longest question, in bytes.
    pub max_query: usize,
    /// The description of the interface, JSON.
    pub document: &'static str,
    /// End of the time for streams when the server stops.
    pub cut_off: CutOff,
}

/// What this server says of itself.
#[derive(Debug, OpenApi)]
#[openapi(
    paths(live, health::health, pipelines::list, stats::stats, query::query),
    components(schemas(stream::StreamEvent<'static>))
)]
pub struct Description;

/// The server is there.
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

/// Serves pipelines, and what there is to say about them.
#[must_use]
pub fn service<B>(
    pipelines: Pipelines,
    options: Options,
) -> impl Service<
    Request<B>,
    Response = Response<impl Body<Data = Bytes, Error = BoxError> + From<Bytes> + Send + 'static>,
    Error = Infallible,
    Future: Send + 'static,
> + Clone
+ Send
+ 'static
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    let reading = [Method::GET, Method::HEAD];
    let document = Document::new("application/json", compact(options.document));
    let pulse = Pulse::new(pipelines.clone(), options.patience.ping);
    let health = Handler(move |request: Request<B>| {
        let (pulse, method) = (pulse.clone(), request.method().clone());
        async move { Ok(reply::page(&method, &*health::health(&pulse).await)) }
    });
    let live = Handler(|request: Request<B>| ready(Ok(reply::page(request.method(), &live()))));
    let listed = pipelines.clone();
    let list = Handler(move |request: Request<B>| {
        ready(Ok(reply::page(request.method(), &pipelines::list(&listed))))
    });
    let counted = pipelines.clone();
    let stats = Handler(move |request: Request<B>| {
        ready(Ok(reply::page(request.method(), &stats::stats(&counted))))
    });
    let readiness = Ready::new(pipelines.readiness().clone());
    Routes::new()
        .under(query::ROOT, query::service(pipelines, Arc::new(options)))
        .at("/v1/pipelines", reading.clone(), list)
        .at("/v1/stats", reading.clone(), stats)
        .at("/v1/health", reading.clone(), health)
        .at("/v1/live", reading.clone(), live)
        .at(DESCRIPTION, reading.clone(), document)
        .at(Ready::<Whole>::PATH, reading.clone(), readiness)
        .at("/", reading, Document::page(page::PAGE))
        .with_render(ErrorLine)
}

/// Whether the server is there
///
/// It asks nobody else.
#[utoipa::path(get, path = "/live", tag = "System", operation_id = "getLive",
    responses((status = 200, description = "It is", body = Live)),
)]
fn live() -> Live {
    Live {
        status: LiveStatus::Ok,
    }
}

/// The description as all JSON here is written: on one line.
fn compact(document: &str) -> String {
    let value: serde_json::Result<Value> = serde_json::from_str(document);
    match value {
        Ok(value) => format!("{value}\n"),
        // Whoever serves no description serves what it has.
        Err(_) => document.to_owned(),
    }
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            patience: Timeouts::default(),
            retrieval_error_codes: false,
            keep_alive: None,
            max_query: MAX_QUERY,
            document: "",
            cut_off: CutOff::default(),
        }
    }
}

// === impl Timeouts ===

/// Fifty seconds for an answer, a minute of silence, a quarter of an hour for a stream, and three
/// seconds for a provider to say that it is there.
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
