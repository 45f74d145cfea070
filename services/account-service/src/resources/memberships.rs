//! `/memberships`: the members of a tenant.

use axum::{
    Json, Router,
    extract::State,
    routing::{self, get},
};
use http::StatusCode;
use utoipa::OpenApi;

use crate::{
    Grants, Membership, Store,
    input::{AdminCaller, Caller, Target},
    reply::{Refused, no_method},
};

/// OpenAPI description of these endpoints.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, delete))]
pub(super) struct Description;

/// The members, and their grants if they sign in here.
#[derive(Clone, Debug)]
struct MemberState {
    store: Store,
    grants: Option<Grants>,
}

/// Builds the routes of these endpoints.
pub(super) fn routes(store: Store, grants: Option<Grants>) -> Router {
    Router::new()
        .route(
            "/account/v1/memberships",
            get(list).fallback(async || no_method()),
        )
        .route(
            "/account/v1/memberships/{id}",
            routing::delete(delete).fallback(async || no_method()),
        )
        .with_state(MemberState { store, grants })
}

/// Lists the members of the tenant
#[utoipa::path(get, path = "/memberships", tag = "memberships", operation_id = "listMemberships",
    responses((status = 200, description = "The memberships, in the order in which they \
        joined", body = Vec<Membership>)),
)]
async fn list(
    State(members): State<MemberState>,
    Caller(caller): Caller,
) -> Result<Json<Vec<Membership>>, Refused> {
    Ok(Json(members.store.memberships(caller.tenant()).await?))
}

/// Removes a member
#[utoipa::path(delete, path = "/memberships/{id}", tag = "memberships",
    operation_id = "deleteMembership",
    params(("id" = String, Path, description = "The id of the record", format = "uuid")),
    responses(
        (status = 204, description = "The person is no longer a member"),
        (status = 400, description = "The member is the owner, who cannot be removed"),
        (status = 403, description = "The caller has the role `reader`"),
        (status = 404, description = "The tenant has no member with this id"),
    ),
)]
async fn delete(
    State(members): State<MemberState>,
    AdminCaller(caller): AdminCaller,
    Target(id): Target,
) -> Result<StatusCode, Refused> {
    let tenant = caller.tenant();
    let user = members.store.delete_membership(tenant, id).await?;
    if let Some(grants) = members.grants {
        grants.end_all(Some(user), Some(tenant)).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
