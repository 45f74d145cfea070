//! The consoles of `ziggurat-tools` and `ziggurat-rag`: their pages, and signing in with a browser.
//!
//! The pages are the files of `dist/`, which are built from `web/` and embedded in the program; the
//! features `tools` and `rag` choose the console. They need no token, are the same for every
//! caller, and hold no secret: whatever they show they get from the API of the server, with the
//! rights of the user who signed in. Nothing here runs a statement or reads a configuration file.
//!
//! ```
//! use axum::{Router, body::Body, routing::get};
//! use http::Request;
//! use tower::ServiceExt as _;
//!
//! # #[cfg(feature = "tools")]
//! # tokio_test::block_on(async {
//! let routes = ziggurat_console::pages().fold(Router::new(), |router, (path, file)| {
//!     router.route(&path, get(file))
//! });
//! let request = Request::get("/console/sign-in").body(Body::empty())?;
//! let response = routes.oneshot(request).await?;
//! assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
//! assert_eq!(response.headers()["cache-control"], "no-cache");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

#[cfg(feature = "tools")]
mod browser;
#[cfg(any(feature = "rag", feature = "tools"))]
mod embedded_file;
#[cfg(feature = "tools")]
mod halves;
#[cfg(feature = "tools")]
mod pages;
#[cfg(any(feature = "rag", feature = "tools"))]
mod policy;
#[cfg(feature = "tools")]
mod public_url;
#[cfg(feature = "rag")]
pub mod rag;
#[cfg(feature = "tools")]
mod refusals;
#[cfg(feature = "tools")]
pub mod session;
#[cfg(feature = "tools")]
mod sites;

#[cfg(any(feature = "rag", feature = "tools"))]
pub use self::embedded_file::EmbeddedFile;
#[cfg(feature = "tools")]
pub use self::{
    browser::redirect,
    pages::{DOCS_PATHS, HOME, OPEN_PATHS, docs, pages},
    public_url::{InvalidPublicUrl, PublicUrl},
    session::SignIn,
    sites::{Problem, Sites},
};
