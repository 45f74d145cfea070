//! `/users/me`: the person who sends the request.

use axum::{Json, Router, extract::State, routing::get};
use utoipa::{OpenApi, ToSchema};

use crate::{
    Store, User,
    input::{JsonObject, UserCaller},
    reply::{Refused, no_method},
    store::UserChange,
};

/// OpenAPI description of these endpoints.
#[derive(Debug, OpenApi)]
#[openapi(paths(show, change), components(schemas(ChangedUser)))]
pub(super) struct Description;

/// Changes to a person. Missing fields stay unchanged.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is read member by member")]
struct ChangedUser {
    /// First name.
    #[schema(max_length = 255, nullable = false)]
    first_name: Option<String>,
    /// Last name.
    #[schema(max_length = 255, nullable = false)]
    last_name: Option<String>,
}

/// Builds the routes of these endpoints.
pub(super) fn routes(store: Store) -> Router {
    Router::new()
        .route(
            "/account/v1/users/me",
            get(show).patch(change).fallback(async || no_method()),
        )
        .with_state(store)
}

/// Returns the person who sends the request
///
/// For people, not for programs.
#[utoipa::path(get, path = "/users/me", tag = "users", operation_id = "getMe", responses(
    (status = 200, description = "The identity that belongs to the token", body = User),
))]
async fn show(State(store): State<Store>, person: UserCaller) -> Result<Json<User>, Refused> {
    Ok(Json(store.user(person.user).await?))
}

/// Changes the name of the person who sends the request
///
/// For people, not for programs.
#[utoipa::path(patch, path = "/users/me", tag = "users", operation_id = "updateMe",
    request_body = ChangedUser,
    responses(
        (status = 200, description = "The person after the change", body = User),
        (status = 400, description = "A field is invalid"),
    ),
)]
async fn change(
    State(store): State<Store>,
    person: UserCaller,
    mut members: JsonObject,
) -> Result<Json<User>, Refused> {
    let change = UserChange {
        first_name: members.text("first_name")?,
        last_name: members.text("last_name")?,
    };
    Ok(Json(store.change_user(person.user, change).await?))
}
