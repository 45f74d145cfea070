//! Endpoints of the stored records, for callers with a token.

mod clients;
mod invites;
mod memberships;
mod tenants;
mod users;

use axum::Router;
use utoipa::{OpenApi as _, openapi::OpenApi};

use crate::{Store, idempotency};

/// Builds the OpenAPI descriptions of these endpoints.
pub(crate) fn descriptions() -> [OpenApi; 5] {
    [
        clients::Description::openapi(),
        invites::Description::openapi(),
        memberships::Description::openapi(),
        tenants::Description::openapi(),
        users::Description::openapi(),
    ]
}

/// Builds the routes of these endpoints; the authentication of callers surrounds them.
pub(crate) fn routes(store: &Store) -> Router {
    // Within the authentication, because keys belong to a caller.
    let created = clients::routes(store.clone())
        .merge(invites::routes(store.clone()))
        .layer(idempotency::layer());
    created
        .merge(memberships::routes(store.clone()))
        .merge(tenants::routes(store.clone()))
        .merge(users::routes(store.clone()))
}
