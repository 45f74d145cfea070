//! The resources under `/api/`, for chat clients.
//!
//! Each area of `/api/` makes a router of its own over the one service it needs;
//! [`router`] puts them together and answers for what none of them has.
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
//! A handler takes the [`Caller`], the service it works for as
//! [`State`](axum::extract::State), and a [`Payload`](ziggurat_http::Payload) if it reads one. It answers with
//! [`Json`](axum::Json), or with a [`Refusal`] in the format of its endpoint. Paths are exact:
//! with a slash more they are others.
//!
//! # What stands around it
//!
//! Who may come in and how large a body may be is settled further out, by the bearer layer
//! and [`BodyLimitLayer`](ziggurat_layers::body_limit::BodyLimitLayer).

mod caller;
pub mod compact;
pub mod conversations;
pub mod databases;
pub mod llm;
#[cfg(test)]
mod tests;
pub mod user;

use axum::Router;
use ziggurat_http::Refusal;

pub use self::caller::Caller;

/// Puts areas together.
///
/// # Panics
/// If two areas have the same path, or one has a fallback.
pub fn router(areas: impl IntoIterator<Item = Router>) -> Router {
    areas
        .into_iter()
        .fold(Router::new(), Router::merge)
        .fallback(async || <Refusal>::not_found())
        .method_not_allowed_fallback(async || <Refusal>::no_such_method())
}
