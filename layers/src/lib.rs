//! Independent Tower layers for HTTP gateways.
//!
//! | Module | Feature | What the layer does |
//! | --- | --- | --- |
//! | `bearer` | `bearer` | refuses requests without a valid bearer token |
//! | `access_token` | `access-token` | verifies access tokens of an OAuth issuer, for `bearer` |
//! | `client_ip` | `client-ip` | finds the client address behind the proxies you list |
//! | `rate_limit` | `rate-limit` | limits requests, failures or concurrent requests per client |
//! | `host` | `host` | refuses requests that were meant for another host (DNS rebinding) |
//! | `origin` | `origin` | refuses requests of web pages from origins that are not allowed |
//! | `body_limit` | `body-limit` | refuses request bodies that are too large |
//! | `idempotency` | `idempotency` | answers a repeated request with the response to the first |
//! | `link` | `link` | adds `Link` headers to responses |
//! | `sanitize` | `sanitize` | keeps the cause of a server fault out of its response |
//! | `shutdown` | `shutdown` | answers the requests that are in flight when a server stops |
//! | `audit` | `audit` | makes exactly one record of each request, whatever becomes of it |
//! | `json_rpc` | `json-rpc` | turns HTTP requests, or lines, into JSON-RPC calls |
//! | `mcp` | `mcp` | lets clients use only the tools, prompts and resources of an MCP server that they may use |
//!
//! Every layer is generic over the request and response bodies, keeps the type of the response
//! body (except `audit`, which watches its end), boxes nothing for an admitted request (except the
//! shared state of `audit`), and depends on no framework. A refusal is a
//! [`Rejection`](reject::Rejection). A [`Render`](reject::Render) turns it into a response; one
//! `Render` can serve all layers.
//!
//! No feature is on by default; `full` turns on all layers, and `builder` adds their methods to
//! tower's `ServiceBuilder`. `axum` is not in `full`: it adds a layer for servers of axum,
//! `client_ip::FromConnectInfoLayer`.
//!
//! ```
//! # #[cfg(feature = "full")] {
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use tower::{ServiceBuilder, service_fn};
//! use ziggurat_layers::{
//!     bearer::{BearerLayer, Hashed, TokenHash},
//!     host::HostLayer,
//!     sanitize::SanitizeLayer,
//! };
//!
//! let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), "ali".to_owned())]);
//! // The first layer sees a request first.
//! let service = ServiceBuilder::new()
//!     .layer(SanitizeLayer::new())
//!     .layer(HostLayer::default())
//!     .layer(BearerLayer::new(tokens).with_exempt(["/health"]))
//!     .service(service_fn(|_: Request<()>| async {
//!         Ok::<_, std::io::Error>(Response::new(Bytes::from("hello")))
//!     }));
//! # let _ = service;
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(any(
    feature = "access-token",
    feature = "idempotency",
    feature = "rate-limit"
))]
#[cfg_attr(
    not(any(feature = "idempotency", feature = "rate-limit")),
    expect(dead_code, reason = "the other layers use more of it")
)]
mod bounded_map;
#[cfg(feature = "builder")]
mod builder;
#[cfg(feature = "clock")]
pub mod clock;
#[cfg(any(feature = "idempotency", feature = "json-rpc"))]
mod collect;
#[cfg(any(feature = "bearer", feature = "host", feature = "mcp"))]
mod dot_segments;
#[cfg(any(feature = "audit", feature = "host", feature = "origin"))]
mod guard;
#[cfg(any(feature = "bearer", feature = "host"))]
mod paths;
pub mod reject;
#[cfg(all(test, feature = "axum", feature = "full"))]
mod tests;

#[cfg(feature = "access-token")]
pub mod access_token;
#[cfg(feature = "audit")]
pub mod audit;
#[cfg(feature = "bearer")]
pub mod bearer;
#[cfg(feature = "body-limit")]
pub mod body_limit;
#[cfg(feature = "client-ip")]
pub mod client_ip;
#[cfg(feature = "host")]
pub mod host;
#[cfg(feature = "idempotency")]
pub mod idempotency;
#[cfg(feature = "json-rpc")]
pub mod json_rpc;
#[cfg(feature = "link")]
pub mod link;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "origin")]
pub mod origin;
#[cfg(feature = "rate-limit")]
pub mod rate_limit;
#[cfg(feature = "sanitize")]
pub mod sanitize;
#[cfg(feature = "shutdown")]
pub mod shutdown;

#[cfg(feature = "builder")]
pub use self::builder::ServiceBuilderExt;
