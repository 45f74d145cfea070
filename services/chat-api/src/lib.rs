//! The resources under `/api/`, for chat clients.
//!
//! Each area of `/api/` has a router for the one service it needs; [`router`] merges them and
//! responds to all other paths.
//!
//! ```
//! use axum::body::Body;
//! use http::Request;
//! use tower::ServiceExt as _;
//! use ziggurat_chat_api as rest;
//!
//! # tokio_test::block_on(async {
//! let service = rest::router([rest::user::routes()]);
//!
//! let request = Request::get("/api/user/info").body(Body::empty())?;
//! let response = service.clone().oneshot(request).await?;
//! assert_eq!(response.status(), 200);
//!
//! let request = Request::delete("/api/user/info").body(Body::empty())?;
//! let response = service.oneshot(request).await?;
//! assert_eq!(response.status(), 405);
//! assert_eq!(response.headers()["allow"], "GET,HEAD");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # An area
//!
//! A handler takes the [`Caller`], its service as [`State`](axum::extract::State), and a
//! [`Payload`](ziggurat_http::Payload) if it reads one. It returns [`Json`](axum::Json), or a
//! [`Refusal`] in the format of its endpoint. Paths must match exactly: a trailing slash makes
//! another path.
//!
//! # Layers around it
//!
//! Authentication and the limit on bodies are in outer layers: the bearer layer and
//! [`BodyLimitLayer`](ziggurat_layers::body_limit::BodyLimitLayer).

mod caller;
pub mod compact;
pub mod conversations;
pub mod databases;
pub mod library;
pub mod llm;
mod page;
#[cfg(test)]
mod tests;
pub mod user;

use axum::Router;
use ziggurat_http::Refusal;

pub use self::caller::Caller;

/// Merges areas.
///
/// # Panics
/// Panics if two areas have the same path, or one has a fallback.
pub fn router(areas: impl IntoIterator<Item = Router>) -> Router {
    areas
        .into_iter()
        .fold(Router::new(), Router::merge)
        .fallback(async || <Refusal>::not_found())
        .method_not_allowed_fallback(async || <Refusal>::no_such_method())
}
