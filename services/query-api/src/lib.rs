//! Statements over HTTP: `/api/query` runs one and sends its rows as they come, `/api/schema` shows
//! the tables that statements may name, `/api/exports` sends rows as a file.
//!
//! A statement runs as `query_database` runs it: checked by the same rules, in a read-only
//! transaction unless the database allows writes, on a connection of its caller, within the limits
//! of the caller. What may write needs a confirmation. Nothing of a result is held but a piece of
//! it, and a caller that hangs up cancels its statement.
//!
//! ```
//! use axum::body::Body;
//! use http::Request;
//! use tower::ServiceExt as _;
//! use ziggurat_mcp::StateSigner;
//! use ziggurat_query_api::{QueryApi, QueryLimits, routes};
//!
//! # tokio_test::block_on(async {
//! # let databases = ziggurat_databases::fixture::databases();
//! let api = QueryApi::new(databases, StateSigner::random(), QueryLimits::default());
//! let request = Request::post("/api/query").body(Body::from(r#"{"sql": " "}"#))?;
//! let response = routes(api).oneshot(request).await?;
//! assert_eq!(response.status(), 400);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Extensions of a request
//!
//! The program may add an [`Identity`],
//! [`Databases`] that replace the usual ones, the [`QueryRights`] of the caller, and an
//! [`Call`](ziggurat_calls::Call) that gets what only the statement tells.

mod cell;
mod checked;
mod columns;
mod error_line;
pub mod exports;
mod limits;
mod lines;
mod prepare;
pub mod query;
mod receipt;
mod request;
mod rights;
mod running;
pub mod schema;
mod stop;

use axum::{
    Router,
    response::Response,
    routing::{get, post},
};
use http::{HeaderValue, header::CACHE_CONTROL};
use ziggurat_accounts::CookieHalf;
use ziggurat_databases::Databases;
use ziggurat_layers::shutdown::CutOff;
use ziggurat_mcp::StateSigner;
use ziggurat_postgres::large_rows::LargeRows;
use ziggurat_receipts::Receipts;
use ziggurat_tokens::Identity;

use self::{exports::Links, running::RunningQueries, schema::Catalogues};
pub use self::{limits::QueryLimits, prepare::MAX_PROGRAM_ROWS, rights::QueryRights};

/// Limit on the memory for large rows of all answers.
const MAX_LARGE_ROWS: usize = 64 << 20;

/// State of the endpoints. Clones share it.
#[derive(Clone, Debug)]
pub struct QueryApi {
    databases: Databases,
    signer: StateSigner,
    limits: QueryLimits,
    running: RunningQueries,
    large_rows: LargeRows,
    catalogues: Catalogues,
    links: Links,
    cut_off: CutOff,
    receipts: Option<Receipts>,
}

// === impl QueryApi ===

impl QueryApi {
    /// Makes the endpoints for the databases of a server, which seal confirmations with this signer.
    #[must_use]
    pub fn new(databases: Databases, signer: StateSigner, limits: QueryLimits) -> Self {
        Self {
            databases,
            signer,
            limits,
            running: RunningQueries::default(),
            large_rows: LargeRows::new(MAX_LARGE_ROWS),
            catalogues: Catalogues::default(),
            links: Links::default(),
            cut_off: CutOff::default(),
            receipts: None,
        }
    }

    /// Sets the signal that ends results when the server stops.
    #[must_use]
    pub fn with_cut_off(self, cut_off: CutOff) -> Self {
        Self { cut_off, ..self }
    }

    /// Sets the receipts that requests may ask for.
    #[must_use]
    pub fn with_receipts(self, receipts: Option<Receipts>) -> Self {
        Self { receipts, ..self }
    }

    /// Returns the caller that made an export in the browser with this cookie. Its download has the
    /// cookie alone, and the program gives it that identity if the session has not ended.
    #[must_use]
    pub fn maker_of_export(&self, id: &str, browser: CookieHalf) -> Option<Identity> {
        self.links.maker(id, browser)
    }
}

/// Returns the routes of this area. Their responses have to be [`unstored`].
pub fn routes(api: QueryApi) -> Router {
    Router::new()
        .route("/api/query", post(query::run))
        .route("/api/schema", get(schema::show))
        .route("/api/exports", post(exports::create))
        .route("/api/exports/{id}", get(exports::fetch))
        .with_state(api)
}

/// Forbids caches to store a response.
#[must_use]
pub fn unstored(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
