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

use crate::{
    Invite, InviteDraft, Principal, Store,
    input::{AdminCaller, Caller, JsonObject, Target},
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
    /// Address of the page at which the person joins, where people sign in here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    accept_url: Option<String>,
}

/// The invitations, and the public address where people sign in here.
#[derive(Clone, Debug)]
struct InviteState {
    store: Store,
    sign_in: Option<String>,
}

/// Builds the routes of these endpoints.
pub(super) fn routes(store: Store, sign_in: Option<String>) -> Router {
    Router::new()
        .route(
            "/account/v1/invites",
            get(list).post(create).fallback(async || no_method()),
        )
        .route(
            "/account/v1/invites/{id}",
            get(show).delete(delete).fallback(async || no_method()),
        )
        .with_state(InviteState { store, sign_in })
}

/// Lists the pending invitations of the tenant
#[utoipa::path(get, path = "/invites", tag = "invites", operation_id = "listInvites", responses(
    (status = 200, description = "The invitations, in the order of creation", body = Vec<Invite>),
))]
async fn list(
    State(state): State<InviteState>,
    Caller(caller): Caller,
) -> Result<Json<Vec<Invite>>, Refused> {
    Ok(Json(state.store.invites(caller.tenant()).await?))
}

/// Invites a person
///
/// For people, not for programs.
#[utoipa::path(post, path = "/invites", tag = "invites", operation_id = "createInvite",
    params(("Idempotency-Key" = Option<String>, Header, description = "A name that the caller gives \
        to this request, to send it again safely for an hour")),
    request_body = NewInvite,
    responses(
        (status = 200, description = "The new invitation, with the token that accepts \
            it", body = NewlyInvited),
        (status = 400, description = "A field is missing or invalid"),
        (status = 409, description = "A person with this mail address is already invited or a \
            member, or a request with this key still runs"),
        (status = 422, description = "The key was used for another request"),
    ),
)]
async fn create(
    State(state): State<InviteState>,
    Caller(caller): Caller,
    mut members: JsonObject,
) -> Result<Response, Refused> {
    let store = &state.store;
    let Principal::User { tenant, user } = caller else {
        return Err(invalid("cannot create invites from an api client"));
    };
    let draft = InviteDraft {
        email: members.required("email")?,
        hours: members.integer("expiration")?,
        invited_by: Some(store.user(user).await?.email),
    };
    let created = store.create_invite(tenant, draft).await?;
    let invited = NewlyInvited {
        accept_url: state.sign_in.map(|issuer| created.accept_url(&issuer)),
        token: created.token.expose_secret().to_owned(),
        invite: created.invite,
    };
    Ok((NO_STORE, Json(invited)).into_response())
}

/// Returns an invitation
#[utoipa::path(get, path = "/invites/{id}", tag = "invites", operation_id = "getInvite",
    params(("id" = String, Path, description = "The id of the record", format = "uuid")),
    responses(
        (status = 200, description = "The invitation", body = Invite),
        (status = 404, description = "The tenant has no invitation with this id, or it has \
            expired"),
    ),
)]
async fn show(
    State(state): State<InviteState>,
    Caller(caller): Caller,
    Target(id): Target,
) -> Result<Json<Invite>, Refused> {
    Ok(Json(state.store.invite(caller.tenant(), id).await?))
}

/// Withdraws an invitation
#[utoipa::path(delete, path = "/invites/{id}", tag = "invites", operation_id = "deleteInvite",
    params(("id" = String, Path, description = "The id of the record", format = "uuid")),
    responses(
        (status = 204, description = "The invitation is withdrawn"),
        (status = 403, description = "The caller has the role `reader`"),
        (status = 404, description = "The tenant has no invitation with this id, or it has \
            expired"),
    ),
)]
async fn delete(
    State(state): State<InviteState>,
    AdminCaller(caller): AdminCaller,
    Target(id): Target,
) -> Result<StatusCode, Refused> {
    state.store.delete_invite(caller.tenant(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}
