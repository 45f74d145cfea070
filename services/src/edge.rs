//! What stands between a network with browsers in it and the services: who may ask from
//! where, which headers every response has, and which service a path leads to.
//!
//! Each part is a layer or a service of its own, generic over what it wraps; none of them
//! boxes anything.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Method, Request};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt as _};
//! use ziggurat_services::{
//!     edge::{HeadersLayer, OriginLayer, Origins, Routes},
//!     rest::Health,
//! };
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
//! From the outside: [`HeadersLayer`], because every response gets them, [`CutOffLayer`],
//! because everything behind it may take its time, [`HostLayer`] and
//! [`OriginLayer`], because a preflight carries no token, then who may come in, then
//! [`Routes`], and [`LoginLayer`] around the one service that is allowed to see a login.

mod content_type;
mod cors;
mod cut_off;
mod either;
mod headers;
mod host;
mod login;
mod origin;
mod routes;
#[cfg(test)]
mod tests;

pub use self::{
    content_type::is_json,
    cors::{AllowedOrigins, Cors, CorsLayer},
    cut_off::{AnswerAtCutOff, CutOffLayer},
    either::EitherBody,
    headers::{Headers, HeadersLayer},
    host::{Host, HostLayer, Hosts, InvalidHost},
    login::{Login, LoginLayer, PeekedBody},
    origin::{InvalidOrigin, Origin, OriginLayer, Origins},
    routes::{Found, NoRoute, Nowhere, Route, Routes, Table},
};
