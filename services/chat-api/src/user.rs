//! `/api/user`: who a caller is.

use axum::{Json, Router, routing::get};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use super::Caller;

/// What this area says of itself.
#[derive(Debug, OpenApi)]
#[openapi(paths(info))]
pub struct Description;

/// Who a caller is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UserInfo)]
struct Info {
    /// The name of the user; empty for an API token, and where nobody has to sign in.
    username: String,
}

/// The endpoints of this area.
pub fn routes() -> Router {
    Router::new().route("/api/user/info", get(info))
}

/// Who the caller is
#[utoipa::path(get, path = "/api/user/info", tag = "User", operation_id = "user_info", responses(
    (status = 200, description = "Known by the token", body = Info),
))]
async fn info(caller: Caller) -> Json<Info> {
    let username = caller.user().unwrap_or_default().to_owned();
    Json(Info { username })
}
