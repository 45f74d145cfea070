//! `/api/admin/configuration` and `/api/admin/reload`.

use axum::{Json, extract::State};
use http::StatusCode;
use serde::Deserialize;
use utoipa::{OpenApi, ToSchema};
use ziggurat_http::{ErrorAndCode, Payload};

use crate::{
    AdminApi, Refusal,
    administrator::{Administrator, RecentAdministrator},
    program::{Configuration, InvalidConfiguration, Reloaded},
    read,
};

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(show, reload))]
pub struct Description;

/// A request to read the configuration again. The body may be absent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = AdminReloadRequest)]
struct ReloadRequest {
    /// Is true if the configuration is only checked.
    dry_run: Option<bool>,
}

/// Shows the configuration in use
///
/// It has the keys of a list; a secret is shown as set or not set.
#[utoipa::path(get, path = "/api/admin/configuration", tag = "Administration",
    operation_id = "admin_show_configuration",
    responses(
        (status = 200, description = "The configuration", body = Configuration),
        (status = 403, description = "`not_admin`: for administrators only"),
        (status = 404, description = "The server needs no sign-in"),
    ),
)]
pub(crate) async fn show(_: Administrator, State(api): State<AdminApi>) -> Json<Configuration> {
    Json(api.0.program.0.configuration())
}

/// Reads the configuration again
///
/// Does the same as the signal SIGHUP. If something is wrong, everything stays as it was.
#[utoipa::path(post, path = "/api/admin/reload", tag = "Administration",
    operation_id = "admin_reload", request_body = Option<ReloadRequest>,
    responses(
        (status = 200, description = "The configuration is in use, or could be", body = Reloaded),
        (status = 400, description = "`bad_request`"),
        (status = 403, description = "`not_admin`: for administrators only; `sign_in_again`: the \
            sign-in is older than 15 minutes"),
        (status = 404, description = "The server needs no sign-in"),
        (status = 422, description = "`invalid_configuration`, with the message of a start"),
    ),
)]
pub(crate) async fn reload(
    _: RecentAdministrator,
    State(api): State<AdminApi>,
    payload: Payload<ErrorAndCode>,
) -> Result<Json<Reloaded>, Refusal> {
    let request: ReloadRequest = match payload.size() {
        0 => ReloadRequest::default(),
        _ => read(&payload)?,
    };
    let is_dry_run = request.dry_run.unwrap_or(false);
    let reloaded = api.0.program.0.reload(is_dry_run).await;
    reloaded.map(Json).map_err(|InvalidConfiguration(message)| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Refusal::new(status, "invalid_configuration", message)
    })
}
