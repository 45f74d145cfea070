//! HTTP building blocks of all servers: TLS, CORS, response headers, bodies, documents, readiness
//! and refusals. `ziggurat-serve` accepts the connections.
//!
//! Layers are generic over the service they wrap, and none of them boxes futures. Routing is left
//! to axum: handlers return a [`Refusal`], and static responses are handlers themselves.
//!
//! ```
//! use axum::{Router, body::Body, routing::get};
//! use http::Request;
//! use tower::{ServiceBuilder, ServiceExt as _};
//! use ziggurat_http::{headers, health};
//! use ziggurat_layers::origin::{OriginLayer, Origins};
//!
//! # tokio_test::block_on(async {
//! let routes: Router = Router::new().route("/health", get(health("example", "1.0.0")));
//! let service = ServiceBuilder::new()
//!     .layer(headers(false))
//!     .layer(OriginLayer::new(Origins::loopback()))
//!     .service(routes);
//!
//! let request = Request::get("/health").header("origin", "https://evil.example");
//! let response = service.clone().oneshot(request.body(Body::empty())?).await?;
//! assert_eq!(response.status(), 403);
//!
//! let response = service.oneshot(Request::get("/health").body(Body::empty())?).await?;
//! assert_eq!(response.status(), 200);
//! assert_eq!(response.headers()["x-frame-options"], "DENY");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Order
//!
//! [`Edge`] puts the layers of a server in their order, and says why each stands where it does.

mod admit;
mod around;
mod cors;
mod detour;
mod document;
mod edge;
mod except;
mod headers;
mod health;
mod metrics;
pub mod payload;
mod post;
mod ready;
mod refusal;
mod request_id;
mod telemetry;
mod tls;

pub use self::{
    admit::{Admit, AdmitLayer},
    around::{Around, AroundLayer},
    cors::{Cors, CorsLayer},
    detour::Detour,
    document::Document,
    edge::{Absent, Edge},
    headers::headers,
    health::health,
    metrics::{MetricsPage, connection_count, count_request},
    payload::{Malformed, Payload, body_budget},
    post::{Post, PostLayer},
    ready::{PartReport, Readiness, Report, Status},
    refusal::{ErrorAndCode, Refusal},
    request_id::{request_id, send_request_id},
    telemetry::{OtlpSettings, SqlCommentKind, TelemetryError, TelemetrySettings, TraceExport},
    tls::{OptionalTls, Tls, TlsError, TlsFiles},
};
