//! `/api/databases`: which databases a caller may use, and choosing one.
//!
//! Endpoints here say no with `{"success": false, "error": …}`.

use axum::{
    Json, Router,
    extract::State,
    routing::{get, post},
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use ziggurat_layers::reject::SuccessFalse;

use super::{Caller, Payload, Refusal};
use crate::databases::{Databases, Listing, SelectError};

/// The database to use from now on.
#[derive(Debug, Deserialize)]
struct Selection {
    /// The name of the connection.
    name: Option<String>,
}

/// The database in use from now on.
#[derive(Debug, Serialize)]
struct Selected {
    /// Always true.
    success: bool,
    /// The name of the connection.
    current: String,
    /// The same in words.
    message: &'static str,
}

/// The endpoints of this area.
pub fn routes(databases: Databases) -> Router {
    let no_such_method = async || Refusal::<SuccessFalse>::no_such_method();
    Router::new()
        .route("/api/databases", get(list).fallback(no_such_method))
        .route(
            "/api/databases/select",
            post(select).fallback(no_such_method),
        )
        .with_state(databases)
}

async fn list(State(databases): State<Databases>, caller: Caller) -> Json<Listing> {
    Json(databases.listing(caller.identity()))
}

async fn select(
    State(databases): State<Databases>,
    caller: Caller,
    payload: Payload<SuccessFalse>,
) -> Result<Json<Selected>, Refusal<SuccessFalse>> {
    let selection: Selection = payload.object()?;
    let name = selection.name.unwrap_or_default();
    if name.is_empty() {
        return Err(Refusal::invalid("Database name is required"));
    }
    databases.choose(caller.identity(), &name).await?;
    Ok(Json(Selected {
        success: true,
        current: name,
        message: "Database selected successfully",
    }))
}

// === impl Refusal ===

impl<R> From<SelectError> for Refusal<R> {
    fn from(error: SelectError) -> Self {
        let (status, code) = match error {
            SelectError::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            SelectError::Bound => (StatusCode::FORBIDDEN, "bound_token"),
            SelectError::Denied => (StatusCode::FORBIDDEN, "denied"),
            SelectError::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        };
        // The words of this error are for the caller.
        Self::new(status, code, error.to_string())
    }
}
