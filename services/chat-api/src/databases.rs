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
use utoipa::{OpenApi, ToSchema};
use ziggurat_databases::{Databases, Listing, SelectError};
use ziggurat_http::{Payload, Refusal};
use ziggurat_layers::reject::SuccessFlag;

use super::Caller;

/// What this area says of itself.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, select))]
pub struct Description;

/// The database to use from now on.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = DatabaseSelection)]
struct Selection {
    /// The name of the connection.
    #[schema(value_type = String, min_length = 1)]
    name: Option<String>,
}

/// The database in use from now on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SelectedDatabase)]
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
    let no_such_method = async || Refusal::<SuccessFlag>::no_such_method();
    Router::new()
        .route("/api/databases", get(list).fallback(no_such_method))
        .route(
            "/api/databases/select",
            post(select).fallback(no_such_method),
        )
        .with_state(databases)
}

/// The databases the caller may use
#[utoipa::path(get, path = "/api/databases", tag = "Databases", operation_id = "list_databases", responses(
    (status = 200, description = "In the order of the configuration", body = Listing),
))]
async fn list(State(databases): State<Databases>, caller: Caller) -> Json<Listing> {
    Json(databases.listing(caller.identity()))
}

/// Use another database from now on
///
/// The choice is that of the session: of the token, or of everybody where nobody signs in.
#[utoipa::path(post, path = "/api/databases/select", tag = "Databases", operation_id = "select_database",
    request_body = Selection,
    responses(
        (status = 200, description = "It is the one in use", body = Selected),
        (status = 400, description = "No name, or no JSON object"),
        (status = 403, description = "It is not there for this token or user"),
        (status = 404, description = "There is none of that name"),
        (status = 503, description = "The choice cannot be written down for all replicas now"),
    ),
)]
async fn select(
    State(databases): State<Databases>,
    caller: Caller,
    payload: Payload<SuccessFlag>,
) -> Result<Json<Selected>, Refusal<SuccessFlag>> {
    let selection: Selection = payload.object()?;
    let name = selection.name.unwrap_or_default();
    if name.is_empty() {
        return Err(Refusal::invalid("Database name is required"));
    }
    let selected = databases.select(caller.identity(), &name).await;
    selected.map_err(refused)?;
    Ok(Json(Selected {
        success: true,
        current: name,
        message: "Database selected successfully",
    }))
}

fn refused<R>(error: SelectError) -> Refusal<R> {
    let (status, code) = match error {
        SelectError::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        SelectError::Bound => (StatusCode::FORBIDDEN, "bound_token"),
        SelectError::Denied => (StatusCode::FORBIDDEN, "denied"),
        SelectError::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    };
    // The words of this error are for the caller.
    Refusal::new(status, code, error.to_string())
}
