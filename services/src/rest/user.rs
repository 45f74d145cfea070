//! `/api/user`: who a caller is.

use axum::{Json, Router, routing::get};
use serde::Serialize;

use super::Caller;

/// Who a caller is.
#[derive(Debug, Serialize)]
struct Info {
    /// The name of the user; empty for an API token, and where nobody has to sign in.
    username: String,
}

/// The endpoints of this area.
pub fn routes() -> Router {
    Router::new().route("/api/user/info", get(info))
}

async fn info(caller: Caller) -> Json<Info> {
    let username = caller.user().unwrap_or_default().to_owned();
    Json(Info { username })
}
