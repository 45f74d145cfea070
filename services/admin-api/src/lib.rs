//! The resources under `/api/admin/`, for administrators.
//!
//! An administrator is a user whose record says so; nothing here makes one. What changes something
//! also asks for a sign-in within the last minutes, so that a browser that was left alone is not
//! enough. Files are written by the functions of the commands for administrators, so that a command
//! line and a server may change them at the same time, and the server reads them again by itself.
//!
//! The crate reads no configuration and runs no statement. Records of calls are those of the layers
//! around it, which also put the [`Identity`](ziggurat_tokens::Identity) of a caller into the
//! extensions of its request.

mod administrator;
pub mod tokens;

use std::{path::PathBuf, sync::Arc};

use axum::{
    Router,
    routing::{delete, get},
};
use ziggurat_accounts::Accounts;
use ziggurat_databases::Databases;
use ziggurat_http::ErrorAndCode;
use ziggurat_layers::body_limit::BodyLimitLayer;

/// Refusal of a request.
pub(crate) type Refusal = ziggurat_http::Refusal<ErrorAndCode>;

/// Limit on the body of a request; notes are short.
const MAX_BYTES: u64 = 64 << 10;

/// State of the endpoints. Clones share it.
#[derive(Clone, Debug)]
pub struct AdminApi(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    token_file: PathBuf,
    accounts: Accounts,
    databases: Databases,
}

// === impl AdminApi ===

impl AdminApi {
    /// Administers this file of API tokens, which the accounts use.
    #[must_use]
    pub fn new(token_file: PathBuf, accounts: Accounts, databases: Databases) -> Self {
        Self(Arc::new(Parts {
            token_file,
            accounts,
            databases,
        }))
    }
}

/// Returns the routes of this area.
pub fn routes(api: AdminApi) -> Router {
    Router::new()
        .route("/api/admin/tokens", get(tokens::list).post(tokens::create))
        .route("/api/admin/tokens/{id}", delete(tokens::remove))
        .with_state(api)
        .layer(BodyLimitLayer::new(MAX_BYTES))
}
