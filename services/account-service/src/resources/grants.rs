//! `/grants`: programs that people allowed to act for them.

use axum::{
    Json, Router,
    extract::{Path, Query, State, rejection::QueryRejection},
    routing::{self, get},
};
use http::StatusCode;
use serde::Deserialize;
use utoipa::OpenApi;

use crate::{
    AccountError, Grants, PersonGrant, Store,
    input::UserCaller,
    reply::{Refused, forbidden, invalid, no_method},
};

/// OpenAPI description of these endpoints.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, delete))]
pub(super) struct Description;

/// The grants, if people sign in here.
#[derive(Clone, Debug)]
struct GrantState {
    store: Store,
    grants: Option<Grants>,
}

/// Parameters of the list.
#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    all: bool,
}

/// Builds the routes of these endpoints.
pub(super) fn routes(store: Store, grants: Option<Grants>) -> Router {
    Router::new()
        .route(
            "/account/v1/grants",
            get(list).fallback(async || no_method()),
        )
        .route(
            "/account/v1/grants/{id}",
            routing::delete(delete).fallback(async || no_method()),
        )
        .with_state(GrantState { store, grants })
}

/// Lists the programs that a person allowed
///
/// For people, not for programs. The owner of a tenant can see the grants of all members.
#[utoipa::path(get, path = "/grants", tag = "grants", operation_id = "listGrants",
    params(("all" = Option<bool>, Query, description = "The grants of all members of the tenant, for \
        its owner")),
    responses(
        (status = 200, description = "The grants, the last used first", body = Vec<PersonGrant>),
        (status = 400, description = "A parameter is invalid"),
        (status = 403, description = "The person is not the owner of the tenant"),
    ),
)]
async fn list(
    State(state): State<GrantState>,
    caller: UserCaller,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<Vec<PersonGrant>>, Refused> {
    let wanted = wanted.map_err(|_| invalid("all must be true or false"))?;
    let is_owner = !wanted.all || state.store.has_owner(caller.tenant, caller.user).await?;
    if !is_owner {
        return Err(forbidden("only the owner of the tenant sees all grants"));
    }
    let Some(grants) = state.grants else {
        return Ok(Json(Vec::new()));
    };
    Ok(Json(if wanted.all {
        grants.of_tenant(caller.tenant).await?
    } else {
        grants.of_user(caller.user).await?
    }))
}

/// Ends a grant
///
/// For people, not for programs. The owner of a tenant can end the grants of all members.
#[utoipa::path(delete, path = "/grants/{id}", tag = "grants", operation_id = "deleteGrant",
    params(("id" = String, Path, description = "The id of the grant")),
    responses(
        (status = 204, description = "The program can no longer act for the person"),
        (status = 404, description = "The person has no grant with this id"),
    ),
)]
async fn delete(
    State(state): State<GrantState>,
    caller: UserCaller,
    Path(id): Path<String>,
) -> Result<StatusCode, Refused> {
    let grants = state.grants.ok_or(AccountError::NotFound("grant"))?;
    let is_owner = state.store.has_owner(caller.tenant, caller.user).await?;
    let tenant = is_owner.then_some(caller.tenant);
    grants.end(&id, Some(caller.user), tenant).await?;
    Ok(StatusCode::NO_CONTENT)
}
