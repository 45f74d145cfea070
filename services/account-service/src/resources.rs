//! Endpoints of the stored records, for callers with a token.

mod clients;
mod grants;
mod invites;
mod memberships;
mod tenants;
mod users;

use axum::Router;
use utoipa::{OpenApi as _, openapi::OpenApi};

use crate::{Grants, Options, Store, idempotency};

/// Builds the OpenAPI descriptions of these endpoints.
pub(crate) fn descriptions() -> [OpenApi; 6] {
    [
        clients::Description::openapi(),
        grants::Description::openapi(),
        invites::Description::openapi(),
        memberships::Description::openapi(),
        tenants::Description::openapi(),
        users::Description::openapi(),
    ]
}

/// Builds the routes of these endpoints; the authentication of callers surrounds them.
pub(crate) fn routes(store: &Store, options: &Options, issuer: &str) -> Router {
    let sign_in = options.sign_in.clone();
    let address = sign_in.is_some().then(|| issuer.to_owned());
    let grants = sign_in.map(|sign_in| Grants::new(store.clone(), sign_in));
    // Within the authentication, because keys belong to a caller.
    let created = clients::routes(store.clone())
        .merge(invites::routes(store.clone(), address))
        .layer(idempotency::layer());
    created
        .merge(grants::routes(store.clone(), grants.clone()))
        .merge(memberships::routes(store.clone(), grants))
        .merge(tenants::routes(store.clone()))
        .merge(users::routes(store.clone()))
}
