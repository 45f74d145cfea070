//! `/clients`: programs that may use the interface.

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
    ApiClient, ClientDraft, CreatedClient, Principal, Role, Store,
    input::{AdminCaller, Authenticated, Caller, JsonObject, Target},
    oauth::NO_STORE,
    reply::{Refused, no_method},
    store::ClientChange,
};

/// OpenAPI description of these endpoints.
#[derive(Debug, OpenApi)]
#[openapi(
    paths(list, create, show, change, delete),
    components(schemas(NewClient, ChangedClient))
)]
pub(super) struct Description;

/// A client to create.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is read member by member")]
struct NewClient {
    /// Purpose of the client.
    #[schema(max_length = 1024)]
    description: String,
    /// Name of the client, for people.
    #[schema(min_length = 1, max_length = 255)]
    name: String,
    /// Rights of the client; `reader` by default.
    #[schema(nullable = false)]
    role: Option<Role>,
}

/// Changes to a client. Missing fields stay unchanged.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is read member by member")]
struct ChangedClient {
    /// Purpose of the client.
    #[schema(max_length = 1024, nullable = false)]
    description: Option<String>,
    /// Name of the client, for people.
    #[schema(min_length = 1, max_length = 255, nullable = false)]
    name: Option<String>,
    /// Rights of the client.
    #[schema(nullable = false)]
    role: Option<Role>,
}

/// A new client with its secret.
#[derive(Serialize, ToSchema)]
struct CreatedApiClient {
    #[serde(flatten)]
    client: ApiClient,
    /// Secret of the client, used with its id to get tokens. It is shown only once.
    auth0_secret: String,
}

/// Builds the routes of these endpoints.
pub(super) fn routes(store: Store) -> Router {
    Router::new()
        .route(
            "/account/v1/clients",
            get(list).post(create).fallback(async || no_method()),
        )
        .route(
            "/account/v1/clients/{id}",
            get(show)
                .patch(change)
                .delete(delete)
                .fallback(async || no_method()),
        )
        .with_state(store)
}

/// Lists the clients of the tenant
#[utoipa::path(get, path = "/clients", tag = "clients", operation_id = "listClients", responses(
    (status = 200, description = "The clients, in the order of creation", body = Vec<ApiClient>),
))]
async fn list(
    State(store): State<Store>,
    Caller(caller): Caller,
) -> Result<Json<Vec<ApiClient>>, Refused> {
    Ok(Json(store.clients(caller.tenant()).await?))
}

/// Creates a client
#[utoipa::path(post, path = "/clients", tag = "clients", operation_id = "createClient",
    params(("Idempotency-Key" = Option<String>, Header, description = "A name that the caller gives \
        to this request, to send it again safely for an hour")),
    request_body = NewClient,
    responses(
        (status = 200, description = "The new client, with its secret", body = CreatedApiClient),
        (status = 400, description = "A field is missing or invalid, or the tenant has too many \
            clients"),
        (status = 403, description = "The caller has the role `reader`"),
        (status = 409, description = "A request with this key still runs"),
        (status = 422, description = "The key was used for another request"),
    ),
)]
async fn create(
    State(store): State<Store>,
    AdminCaller(caller): AdminCaller,
    mut members: JsonObject,
) -> Result<Response, Refused> {
    let draft = ClientDraft {
        name: members.required("name")?,
        description: members.required("description")?,
        role: role(&mut members)?,
    };
    let created = store.create_client(caller.tenant(), draft).await?;
    Ok((NO_STORE, Json(CreatedApiClient::from(created))).into_response())
}

/// Returns a client
#[utoipa::path(get, path = "/clients/{id}", tag = "clients", operation_id = "getClient",
    params(("id" = String, Path, description = "The id of the record", format = "uuid")),
    responses(
        (status = 200, description = "The client", body = ApiClient),
        (status = 404, description = "The tenant has no client with this id"),
    ),
)]
async fn show(
    State(store): State<Store>,
    Caller(caller): Caller,
    Target(id): Target,
) -> Result<Json<ApiClient>, Refused> {
    Ok(Json(store.client(caller.tenant(), id).await?))
}

/// Changes a client
#[utoipa::path(patch, path = "/clients/{id}", tag = "clients", operation_id = "updateClient",
    params(("id" = String, Path, description = "The id of the record", format = "uuid")),
    request_body = ChangedClient,
    responses(
        (status = 200, description = "The record after the change", body = ApiClient),
        (status = 400, description = "A field is invalid"),
        (status = 403, description = "The caller has the role `reader`"),
        (status = 404, description = "The tenant has no client with this id"),
    ),
)]
async fn change(
    State(store): State<Store>,
    AdminCaller(caller): AdminCaller,
    Target(id): Target,
    mut members: JsonObject,
) -> Result<Json<ApiClient>, Refused> {
    let change = ClientChange {
        name: members.text("name")?,
        description: members.text("description")?,
        role: role(&mut members)?,
    };
    Ok(Json(
        store.change_client(caller.tenant(), id, change).await?,
    ))
}

/// Deletes a client
///
/// Its secret and its tokens become invalid, here at once, and within a minute at servers that
/// trust this one. Every client may delete itself.
#[utoipa::path(delete, path = "/clients/{id}", tag = "clients", operation_id = "deleteClient",
    params(("id" = String, Path, description = "The id of the record", format = "uuid")),
    responses(
        (status = 204, description = "The client is deleted"),
        (status = 403, description = "The caller has the role `reader`, and the client is not its \
            own"),
        (status = 404, description = "The tenant has no client with this id"),
    ),
)]
async fn delete(
    State(store): State<Store>,
    caller: Authenticated,
    Target(id): Target,
) -> Result<StatusCode, Refused> {
    let caller = match caller.principal {
        itself @ Principal::Client { client, .. } if client == id => itself,
        _ => caller.admin()?,
    };
    store.delete_client(caller.tenant(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the role in a body, if present.
fn role(members: &mut JsonObject) -> Result<Option<Role>, Refused> {
    let role = members.text("role")?.map(|role| role.parse());
    Ok(role.transpose()?)
}

impl From<CreatedClient> for CreatedApiClient {
    fn from(created: CreatedClient) -> Self {
        Self {
            auth0_secret: created.secret.expose_secret().to_owned(),
            client: created.client,
        }
    }
}
