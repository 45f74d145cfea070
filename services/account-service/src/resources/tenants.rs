//! `/tenants`: the tenant the caller acts for.

use axum::{Json, Router, extract::State, routing::get};
use utoipa::{OpenApi, ToSchema};

use crate::{
    AccountError, Id, Store, Tenant,
    input::{AdminCaller, Caller, JsonObject, Target},
    reply::{Refused, no_method},
};

/// OpenAPI description of these endpoints.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, show, change), components(schemas(ChangedTenant)))]
pub(super) struct Description;

/// Changes to a tenant. Missing fields stay unchanged.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is read member by member")]
struct ChangedTenant {
    /// New name of the tenant, for people.
    #[schema(min_length = 1, max_length = 255, nullable = false)]
    name: Option<String>,
}

/// Builds the routes of these endpoints.
pub(super) fn routes(store: Store) -> Router {
    Router::new()
        .route(
            "/account/v1/tenants",
            get(list).fallback(async || no_method()),
        )
        .route(
            "/account/v1/tenants/{id}",
            get(show).patch(change).fallback(async || no_method()),
        )
        .with_state(store)
}

/// Lists the tenants the caller acts for
#[utoipa::path(get, path = "/tenants", tag = "tenants", operation_id = "listTenants", responses(
    (status = 200, description = "The tenant of the token, as a list of one", body = Vec<Tenant>),
))]
async fn list(
    State(store): State<Store>,
    Caller(caller): Caller,
) -> Result<Json<Vec<Tenant>>, Refused> {
    Ok(Json(vec![store.tenant(caller.tenant()).await?]))
}

/// Returns a tenant
#[utoipa::path(get, path = "/tenants/{id}", tag = "tenants", operation_id = "getTenant",
    params(("id" = String, Path, description = "The id of the record", format = "uuid")),
    responses(
        (status = 200, description = "The tenant", body = Tenant),
        (status = 404, description = "The caller does not act for this tenant"),
    ),
)]
async fn show(
    State(store): State<Store>,
    Caller(caller): Caller,
    Target(id): Target,
) -> Result<Json<Tenant>, Refused> {
    Ok(Json(store.tenant(own(caller.tenant(), id)?).await?))
}

/// Renames a tenant
#[utoipa::path(patch, path = "/tenants/{id}", tag = "tenants", operation_id = "updateTenant",
    params(("id" = String, Path, description = "The id of the record", format = "uuid")),
    request_body = ChangedTenant,
    responses(
        (status = 200, description = "The record after the change", body = Tenant),
        (status = 400, description = "The name is invalid"),
        (status = 403, description = "The caller has the role `reader`"),
        (status = 404, description = "The caller does not act for this tenant"),
    ),
)]
async fn change(
    State(store): State<Store>,
    AdminCaller(caller): AdminCaller,
    Target(id): Target,
    mut members: JsonObject,
) -> Result<Json<Tenant>, Refused> {
    let name = members.text("name")?;
    let id = own(caller.tenant(), id)?;
    Ok(Json(store.rename_tenant(id, name).await?))
}

/// Hides other tenants: returns the id only if it is the id of the caller's tenant.
fn own(tenant: Id, id: Id) -> Result<Id, AccountError> {
    if tenant == id {
        return Ok(id);
    }
    Err(AccountError::NotFound("tenant"))
}
