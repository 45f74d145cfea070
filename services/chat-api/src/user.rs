//! `/api/user`: the identity of a caller.

use axum::{Json, Router, routing::get};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use crate::Caller;

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(info))]
pub struct Description;

/// Identity of a caller.
#[derive(Debug, Serialize, ToSchema)]
struct UserInfo {
    /// Name of the user; empty for an API token, and without authentication.
    username: String,
}

/// Returns the routes of this area.
pub fn routes() -> Router {
    Router::new().route("/api/user/info", get(info))
}

/// Returns the name of the caller
#[utoipa::path(get, path = "/api/user/info", tag = "User", operation_id = "user_info", responses(
    (status = 200, description = "The identity that belongs to the token", body = UserInfo),
))]
async fn info(caller: Caller) -> Json<UserInfo> {
    let username = caller.user().unwrap_or_default().to_owned();
    Json(UserInfo { username })
}
