//! HTTP building blocks of all servers: accept loop, TLS, limits, checks of `Host` and `Origin`,
//! response headers, and routes.
//!
//! Each part is a separate layer or service, generic over the service it wraps; none of them boxes
//! futures.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Method, Request};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt as _};
//! use ziggurat_http::{HeadersLayer, Health, OriginLayer, Origins, Routes};
//!
//! # tokio_test::block_on(async {
//! let health = Health::<Full<Bytes>>::new("example", "1.0.0");
//! let routes = Routes::new().at("/health", [Method::GET, Method::HEAD], health);
//! let service = ServiceBuilder::new()
//!     .layer(HeadersLayer::new())
//!     .layer(OriginLayer::new(Origins::loopback()))
//!     .service(routes);
//!
//! let request = Request::get("/health").header("origin", "https://evil.example").body(())?;
//! let response = service.clone().oneshot(request).await?;
//! assert_eq!(response.status(), 403);
//!
//! let request = Request::post("/health").body(())?;
//! let response = service.oneshot(request).await?;
//! assert_eq!(response.status(), 405);
//! assert_eq!(response.headers()["allow"], "GET, HEAD");
//! assert_eq!(response.headers()["x-frame-options"], "DENY");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Order
//!
//! From the outside: [`HeadersLayer`], because every response gets the headers, [`CutOffLayer`],
//! because everything inside it may take long, [`HostLayer`] and [`OriginLayer`], because a
//! preflight carries no token, then authentication, then [`Routes`].

mod content_type;
mod cors;
mod cut_off;
mod document;
mod either;
mod except;
mod headers;
mod health;
mod host;
mod origin;
pub mod payload;
mod refusal;
mod routes;
pub mod serve;
pub mod sse;

pub use self::{
    content_type::is_json,
    cors::{AllowedOrigins, Cors, CorsLayer},
    cut_off::{AnswerAtCutOff, CutOffLayer},
    document::Document,
    either::EitherBody,
    except::{Except, ExceptLayer},
    headers::{Headers, HeadersLayer},
    health::Health,
    host::{Host, HostLayer, Hosts, InvalidHost},
    origin::{InvalidOrigin, Origin, OriginLayer, Origins},
    payload::{Malformed, Payload},
    refusal::Refusal,
    routes::{Found, NoRoute, Nowhere, Route, Routes, Table},
};
