//! The resources under `/api/admin/`, for administrators.
//!
//! An administrator is a user whose record says so; nothing here makes one. A request that changes
//! something also asks for a sign-in within the last minutes, so that a browser that was left alone
//! is not enough. Files are written by the functions of the commands for administrators, so that a
//! command line and a server may change them at the same time, and the server reads them again by
//! itself.
//!
//! The crate reads no configuration and runs no statement. The layers around it record calls, and
//! put the [`Identity`](ziggurat_tokens::Identity) of a caller into the extensions of its request.

mod administrator;
pub mod audit;
pub mod configuration;
pub mod databases;
pub mod grants;
pub mod program;
#[cfg(test)]
mod tests;
pub mod tokens;
pub mod users;

use std::{
    collections::HashMap,
    ops::Deref,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Instant,
};

use axum::{
    Router,
    routing::{delete, get, patch, post},
};
use http::StatusCode;
use serde::Deserialize;
use tokio::sync::Mutex as AsyncMutex;
use ziggurat_accounts::Accounts;
use ziggurat_databases::{Databases, SelectError};
use ziggurat_http::{ErrorAndCode, Payload, Readiness};
use ziggurat_layers::body_limit::BodyLimitLayer;
use ziggurat_sign_in_state::SignInStore;
use ziggurat_state::Conversations;

use self::program::SharedProgram;

/// Refusal of a request.
pub(crate) type Refusal = ziggurat_http::Refusal<ErrorAndCode>;

/// Limit on the body of a request; notes are short.
const MAX_BYTES: u64 = 64 << 10;

/// State of the endpoints. Clones share it.
#[derive(Clone, Debug)]
pub struct AdminApi(Arc<Parts>);

/// Files and services that are administered.
#[derive(Debug)]
pub struct Services {
    /// File of API tokens, which the accounts use.
    pub token_file: PathBuf,
    /// File of users, which the accounts use.
    pub user_file: PathBuf,
    /// Least number of characters of a new password.
    pub min_password_length: usize,
    /// Accounts of the server.
    pub accounts: Accounts,
    /// Grants of the users, if they sign in with browsers.
    pub grants: Option<SignInStore>,
    /// State of the users, if it is kept.
    pub conversations: Option<Conversations>,
    /// Databases of the server.
    pub databases: Databases,
    /// Knows which databases can be reached.
    pub readiness: Readiness,
    /// The program.
    pub program: SharedProgram,
}

#[derive(Debug)]
struct Parts {
    services: Services,
    /// Held during a change of the user file.
    user_changes: AsyncMutex<()>,
    /// Begin of the last test of each database.
    tests: Mutex<HashMap<String, Instant>>,
}

// === impl AdminApi ===

impl AdminApi {
    /// Administers these files and services.
    #[must_use]
    pub fn new(services: Services) -> Self {
        Self(Arc::new(Parts {
            services,
            user_changes: AsyncMutex::default(),
            tests: Mutex::default(),
        }))
    }

    fn check_database(&self, name: &str) -> Result<(), Refusal> {
        if self.0.databases.check(None, name) == Err(SelectError::NotFound) {
            let message = format!("unknown database: {name}");
            return Err(invalid("unknown_database", message));
        }
        Ok(())
    }
}

// === impl Parts ===

impl Deref for Parts {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

/// Reads the body of a request.
fn read<'a, T: Deserialize<'a>>(payload: &'a Payload<ErrorAndCode>) -> Result<T, Refusal> {
    let malformed = |error| invalid("bad_request", format!("Invalid request body: {error}"));
    payload.object().map_err(malformed)
}

fn invalid(code: &'static str, message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, code, message.into())
}

/// Returns the routes of this area.
pub fn routes(api: AdminApi) -> Router {
    Router::new()
        .route("/api/admin/tokens", get(tokens::list).post(tokens::create))
        .route("/api/admin/tokens/{id}", delete(tokens::remove))
        .route("/api/admin/users", get(users::list).post(users::create))
        .route(
            "/api/admin/users/{username}",
            patch(users::update).delete(users::remove),
        )
        .route(
            "/api/admin/users/{username}/sessions",
            delete(users::end_sessions),
        )
        .route("/api/admin/grants", get(grants::list))
        .route("/api/admin/grants/{id}", delete(grants::remove))
        .route("/api/admin/databases", get(databases::list))
        .route("/api/admin/databases/{name}/test", post(databases::test))
        .route("/api/admin/configuration", get(configuration::show))
        .route("/api/admin/reload", post(configuration::reload))
        .with_state(api)
        .layer(BodyLimitLayer::new(MAX_BYTES))
}
