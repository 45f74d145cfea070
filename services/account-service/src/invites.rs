//! `/invites`: invitations to a tenant.

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use http::StatusCode;
use secrecy::ExposeSecret as _;
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use super::{
    CreatedInvite, Invite, InviteDraft, Principal, Store,
    input::{Caller, Manager, Members, Target},
    oauth::NO_STORE,
    reply::{Refused, invalid, no_method},
};

/// OpenAPI description of these endpoints.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, create, show, delete), components(schemas(NewInvite)))]
pub(super) struct Description;

/// An invitation to create.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is read member by member")]
struct NewInvite {
    /// Mail address of the invited person.
    #[schema(min_length = 3, max_length = 254)]
    email: String,
    /// Hours until the invitation expires; a week by default.
    #[schema(minimum = 1, maximum = 8760, nullable = false)]
    expiration: Option<i64>,
}

/// A new invitation with its token.
#[derive(Serialize, ToSchema)]
struct NewlyInvited {
    #[serde(flatten)]
    invite: Invite,
    /// Token that accepts the invitation. It is shown only once.
    token: String,
}

/// Builds the routes of these endpoints.
pub(super) fn routes(store: Store) -> Router {
    Router::new()
        .route(
            "/account/v1/invites",
            get(list).post(create).fallback(async || no_method()),
        )
        .route(
            "/account/v1/invites/{id}",
            get(show).delete(delete).fallback(async || no_method()),
        )
        .with_state(store)
}

/// The invitations of the tenant that can be accepted
#[utoipa::path(get, path = "/invites", tag = "invites", operation_id = "listInvites", responses(
    (status = 200, description = "In the order in which they were made", body = Vec<Invite>),
))]
async fn list(
    State(store): State<Store>,
    Caller(caller): Caller,
) -> Result<Json<Vec<Invite>>, Refused> {
    Ok(Json(store.invites(caller.tenant()).await?))
}

/// Invite a person
///
/// For people, not for programs.
#[utoipa::path(post, path = "/invites", tag = "invites", operation_id = "createInvite",
    request_body = NewInvite,
    responses(
        (status = 200, description = "It, with what it is accepted with", body = NewlyInvited),
        (status = 400, description = "A client asks, or a member is missing or no good"),
        (status = 409, description = "A person with this mail address is invited or a member already"),
    ),
)]
async fn create(
    State(store): State<Store>,
    Caller(caller): Caller,
    mut members: Members,
) -> Result<Response, Refused> {
    let Principal::User { tenant, user } = caller else {
        return Err(invalid("cannot create invites from an api client"));
    };
    let draft = InviteDraft {
        email: members.required("email")?,
        hours: members.integer("expiration")?,
        invited_by: Some(store.user(user).await?.email),
    };
    let CreatedInvite { invite, token } = store.create_invite(tenant, draft).await?;
    let token = token.expose_secret().to_owned();
    Ok((NO_STORE, Json(NewlyInvited { invite, token })).into_response())
}

/// An invitation
#[utoipa::path(get, path = "/invites/{id}", tag = "invites", operation_id = "getInvite",
    params(("id" = String, Path, description = "The name of the record", format = "uuid")),
    responses(
        (status = 200, description = "It", body = Invite),
        (status = 404, description = "The tenant has no such invite, or it has expired"),
    ),
)]
async fn show(
    State(store): State<Store>,
    Caller(caller): Caller,
    Target(id): Target,
) -> Result<Json<Invite>, Refused> {
    Ok(Json(store.invite(caller.tenant(), id).await?))
}

/// Withdraw an invitation
#[utoipa::path(delete, path = "/invites/{id}", tag = "invites", operation_id = "deleteInvite",
    params(("id" = String, Path, description = "The name of the record", format = "uuid")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 403, description = "The caller has the role reader"),
        (status = 404, description = "The tenant has no such invite, or it has expired"),
    ),
)]
async fn delete(
    State(store): State<Store>,
    Manager(caller): Manager,
    Target(id): Target,
) -> Result<StatusCode, Refused> {
    store.delete_invite(caller.tenant(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}
