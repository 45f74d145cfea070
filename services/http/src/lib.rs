//! HTTP building blocks of all servers: accept loop, TLS, limits, CORS, response headers, bodies, documents and refusals.
//!
//! Layers are generic over the service they wrap, and none of them boxes futures. Routes are those
//! of axum: handlers return a [`Refusal`], and static responses are handlers themselves.
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
//! From the outside: [`headers`], because every response gets them, [`ShutdownLayer`], because
//! everything inside it may take long, the layers `host` and `origin` and [`PreflightLayer`], because
//! a preflight carries no token, then authentication, then the routes.

mod around;
mod content_type;
mod cors;
mod document;
mod except;
mod headers;
mod health;
pub mod payload;
mod preflight;
mod refusal;
pub mod serve;
mod shutdown;
pub mod sse;

pub use self::{
    around::{Around, AroundLayer},
    content_type::is_json,
    cors::{AllowedOrigins, Cors, CorsLayer},
    document::Document,
    except::{Except, ExceptLayer},
    headers::headers,
    health::health,
    payload::{Malformed, Payload},
    preflight::{Preflight, PreflightLayer},
    refusal::Refusal,
    shutdown::{Shutdown, ShutdownLayer},
};
