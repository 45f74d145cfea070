//! `/api/admin/tokens`: lists, makes and removes API tokens.

use std::collections::HashSet;

use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use utoipa::{OpenApi, ToSchema};
use ziggurat_http::{ErrorAndCode, Payload};
use ziggurat_layers::sanitize::ErrorDetail;
use ziggurat_tokens::{Expiry, NewToken, TokenError, TokenFile, TokenRecord};

use crate::{
    AdminApi, Refusal,
    administrator::{Administrator, RecentAdministrator},
    invalid, read,
};

/// Lifetime of a token if the request names none.
const USUAL_EXPIRY: &str = "90d";

/// Length of the beginning of a digest that is shown.
const PREFIX: usize = 12;

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, create, remove))]
pub struct Description;

/// API tokens.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AdminTokens)]
pub(crate) struct Tokens {
    /// The tokens, the oldest first.
    tokens: Vec<AdminToken>,
}

/// An API token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
struct AdminToken {
    id: String,
    /// Note of an administrator about its use.
    note: String,
    /// Beginning of the SHA-256 digest of the token.
    hash_prefix: String,
    /// Database it is bound to; null for the first configured one.
    database: Option<String>,
    /// Toolsets of the token itself, besides those that name it in the configuration; null for none.
    toolsets: Option<Vec<String>>,
    #[schema(value_type = Option<String>, format = DateTime)]
    created_at: Option<Timestamp>,
    /// Null if the token does not end.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Is true if the token has ended.
    expired: bool,
    /// Last use in this process, to the second; null for none.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
}

/// An API token to make.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewAdminToken)]
struct TokenRequest {
    /// Note about its use.
    note: Option<String>,
    /// Database to bind it to; the first configured one by default.
    database: Option<String>,
    /// Lifetime: `12h`, `90d` (the default), `2w`, `1y`, or `never`.
    expiry: Option<String>,
    /// Toolsets that the token gets as if they named it in the configuration.
    toolsets: Option<Vec<String>>,
}

/// A new API token.
#[derive(Debug, Serialize, ToSchema)]
struct CreatedAdminToken {
    /// The token. It is in this answer and nowhere else.
    #[schema(format = Password)]
    token: String,
    record: AdminToken,
}

// === impl AdminToken ===

impl AdminToken {
    fn new(record: TokenRecord, now: Timestamp, api: &AdminApi) -> Self {
        let mut hash_prefix = record.hash.to_string();
        hash_prefix.truncate(PREFIX);
        Self {
            hash_prefix,
            expired: record.is_expired(now),
            last_used_at: api.0.accounts.last_use(record.hash),
            id: record.id,
            note: record.note,
            database: record.database,
            toolsets: Some(record.toolsets).filter(|names| !names.is_empty()),
            created_at: record.created_at,
            expires_at: record.expires_at,
        }
    }
}

/// Lists the API tokens
#[utoipa::path(get, path = "/api/admin/tokens", tag = "Administration",
    operation_id = "admin_list_tokens",
    responses(
        (status = 200, description = "The tokens, without their secrets", body = Tokens),
        (status = 403, description = "`not_admin`: for administrators only"),
        (status = 404, description = "The server needs no sign-in"),
    ),
)]
pub(crate) async fn list(
    _: Administrator,
    State(api): State<AdminApi>,
) -> Result<Json<Tokens>, Refusal> {
    let path = api.0.token_file.clone();
    let records = spawn_blocking(move || TokenFile::new(path).list()).await;
    let records = records.map_err(unreadable)?.map_err(unreadable)?;
    let now = Timestamp::now();
    let tokens = records.into_iter();
    let tokens = tokens
        .map(|record| AdminToken::new(record, now, &api))
        .collect();
    Ok(Json(Tokens { tokens }))
}

/// Makes an API token
///
/// The server knows it within 100 ms.
#[utoipa::path(post, path = "/api/admin/tokens", tag = "Administration",
    operation_id = "admin_create_token", request_body = TokenRequest,
    responses(
        (status = 201, description = "The token, shown once", body = CreatedAdminToken),
        (status = 400, description = "`bad_request`, `bad_expiry`, `unknown_database`, \
            `unknown_toolset`"),
        (status = 403, description = "`not_admin`: for administrators only; `sign_in_again`: the \
            sign-in is older than 15 minutes"),
        (status = 404, description = "The server needs no sign-in"),
    ),
)]
pub(crate) async fn create(
    _: RecentAdministrator,
    State(api): State<AdminApi>,
    payload: Payload<ErrorAndCode>,
) -> Result<Response, Refusal> {
    let request: TokenRequest = read(&payload)?;
    let expiry = request.expiry.as_deref().unwrap_or(USUAL_EXPIRY);
    let expiry: Expiry = expiry
        .parse()
        .map_err(|error| invalid("bad_expiry", format!("Invalid expiry duration: {error}")))?;
    let mut toolsets = request.toolsets.unwrap_or_default();
    if let Some(name) = toolsets
        .iter()
        .find(|name| !api.0.program.0.has_toolset(name))
    {
        return Err(invalid(
            "unknown_toolset",
            format!("unknown toolset: {name}"),
        ));
    }
    let mut seen = HashSet::new();
    toolsets.retain(|name| seen.insert(name.clone()));
    let database = request.database.filter(|name| !name.is_empty());
    if let Some(name) = &database {
        api.check_database(name)?;
    }
    let now = Timestamp::now();
    let new = NewToken {
        note: request.note.unwrap_or_default(),
        database,
        expires_at: expiry.after(now),
        toolsets,
        ..NewToken::default()
    };
    let path = api.0.token_file.clone();
    let created = spawn_blocking(move || TokenFile::new(path).add(new, now)).await;
    let created = created.map_err(unwritten)?.map_err(unwritten)?;
    let created = CreatedAdminToken {
        token: created.token.expose_secret().to_owned(),
        record: AdminToken::new(created.record, now, &api),
    };
    Ok((StatusCode::CREATED, Json(created)).into_response())
}

/// Removes an API token
///
/// Its connections and its sessions end within 100 ms.
#[utoipa::path(delete, path = "/api/admin/tokens/{id}", tag = "Administration",
    operation_id = "admin_remove_token",
    params(("id" = String, Path, description = "The id of the token, or the beginning of its digest")),
    responses(
        (status = 204, description = "The token is removed"),
        (status = 403, description = "`not_admin`: for administrators only; `sign_in_again`: the \
            sign-in is older than 15 minutes"),
        (status = 404, description = "`not_found`: there is no such token"),
    ),
)]
pub(crate) async fn remove(
    _: RecentAdministrator,
    State(api): State<AdminApi>,
    id: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, Refusal> {
    let Ok(Path(id)) = id else {
        return Err(Refusal::not_found());
    };
    let path = api.0.token_file.clone();
    let removed = spawn_blocking(move || TokenFile::new(path).remove(&id)).await;
    match removed.map_err(unwritten)? {
        Ok(_) => Ok(StatusCode::NO_CONTENT),
        Err(error @ (TokenError::NotFound(_) | TokenError::Ambiguous(_))) => {
            let status = StatusCode::NOT_FOUND;
            Err(Refusal::new(status, "not_found", error.to_string()))
        }
        Err(error) => Err(unwritten(error)),
    }
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Refusal {
    Refusal::fault("The token file cannot be read", ErrorDetail::new(error))
}

fn unwritten(error: impl std::error::Error + Send + Sync + 'static) -> Refusal {
    Refusal::fault("The token file cannot be written", ErrorDetail::new(error))
}
