//! `/api/databases`: lists the databases of a caller and selects one.
//!
//! Endpoints here report errors as `{"success": false, "error": …}`.

use axum::{
    Extension, Json, Router,
    extract::State,
    routing::{get, post},
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use ziggurat_databases::{Databases, Listing, SelectError};
use ziggurat_http::{Payload, Refusal};
use ziggurat_layers::reject::SuccessFlag;

use crate::Caller;

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, select))]
pub struct Description;

/// The database to select.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = DatabaseSelection)]
struct Selection {
    /// Name of the connection.
    #[schema(value_type = String, min_length = 1)]
    name: Option<String>,
}

/// The selected database.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SelectedDatabase)]
struct Selected {
    /// Always true.
    success: bool,
    /// Name of the connection.
    current: String,
    /// Message for the user.
    message: &'static str,
}

/// Returns the routes of this area. A request with [`Databases`] in its extensions uses those.
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

/// Lists the databases that the caller may use
#[utoipa::path(get, path = "/api/databases", tag = "Databases", operation_id = "list_databases", responses(
    (status = 200, description = "The databases, in the order of the configuration", body = Listing),
))]
async fn list(
    State(databases): State<Databases>,
    own: Option<Extension<Databases>>,
    caller: Caller,
) -> Json<Listing> {
    let databases = own.map_or(databases, |Extension(own)| own);
    Json(databases.listing(caller.identity()))
}

/// Selects a database
///
/// The selection belongs to the session of the token. Without authentication, all clients share one
/// session.
#[utoipa::path(post, path = "/api/databases/select", tag = "Databases", operation_id = "select_database",
    request_body = Selection,
    responses(
        (status = 200, description = "The database is selected", body = Selected),
        (status = 400, description = "`name` is missing, or the body is not a JSON object"),
        (status = 403, description = "The database does not exist, or is not available to this \
            caller"),
        (status = 404, description = "No conversation has this id"),
        (status = 503, description = "The selection cannot be stored for all replicas at the \
            moment"),
    ),
)]
async fn select(
    State(databases): State<Databases>,
    own: Option<Extension<Databases>>,
    caller: Caller,
    payload: Payload<SuccessFlag>,
) -> Result<Json<Selected>, Refusal<SuccessFlag>> {
    let selection: Selection = payload.object()?;
    let name = selection.name.unwrap_or_default();
    if name.is_empty() {
        return Err(Refusal::invalid("Database name is required"));
    }
    let databases = own.map_or(databases, |Extension(own)| own);
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
    // The message of this error is for the caller.
    Refusal::new(status, code, error.to_string())
}
