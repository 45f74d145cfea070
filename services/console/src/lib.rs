//! The console: its pages, and signing in to it with a browser.
//!
//! The pages are the files of `dist/`, which are built from `web/` and embedded in the program. They
//! need no token, are the same for every caller, and hold no secret: whatever they show they get
//! from the API of the server, with the rights of the user who signed in. Nothing here runs a
//! statement or reads a configuration file.
//!
//! ```
//! use axum::{Router, body::Body, routing::get};
//! use http::Request;
//! use tower::ServiceExt as _;
//!
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

mod browser;
mod embedded_file;
mod halves;
mod pages;
mod policy;
mod public_url;
mod refusals;
pub mod session;
mod sites;

pub use self::{
    browser::redirect,
    embedded_file::EmbeddedFile,
    pages::{DOCS_PATHS, HOME, OPEN_PATHS, docs, pages},
    public_url::{InvalidPublicUrl, PublicUrl},
    session::SignIn,
    sites::{Problem, Sites},
};
