//! `/api/admin/grants`: lists and ends the grants of people who sign in with browsers.

use std::collections::HashMap;

use axum::{
    Json,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use ziggurat_accounts::PersonId;
use ziggurat_layers::sanitize::ErrorDetail;
use ziggurat_mcp_auth::{Grant, GrantId, Seconds, Store as _, Why};
use ziggurat_sign_in_state::SignInStore;

use crate::{
    AdminApi, Refusal,
    administrator::{Administrator, RecentAdministrator},
    invalid,
};

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, remove))]
pub struct Description;

/// Grants.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AdminGrants)]
pub(crate) struct Grants {
    /// The grants that have not ended, the last used first.
    grants: Vec<AdminGrant>,
}

/// The permission of a user for a client.
#[derive(Debug, Serialize, ToSchema)]
struct AdminGrant {
    id: String,
    username: String,
    /// Id of the client; `ziggurat-console` is a session of the console.
    client_id: String,
    /// Name that the client registered; null if it did not register here.
    client_name: Option<String>,
    /// Address of the server that it is for.
    resource: String,
    /// Words between blanks.
    scope: String,
    /// Databases that the user allowed; null for all that the user may use.
    databases: Option<Vec<String>>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Last use, to the minute.
    #[schema(value_type = String, format = DateTime)]
    last_used_at: Timestamp,
    /// Time at which it ends in any case.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// Options of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListQuery {
    username: Option<String>,
}

// === impl AdminApi ===

impl AdminApi {
    fn sign_ins(&self) -> Result<&SignInStore, Refusal> {
        let message = "People do not sign in with browsers here";
        let off = || Refusal::new(StatusCode::NOT_FOUND, "sign_in_off", message);
        self.0.grants.as_ref().ok_or_else(off)
    }

    /// Returns the id of the person that a user is for the sign-in. Other names are people who come
    /// from other providers.
    async fn person(&self, username: &str) -> Result<String, Refusal> {
        let records = self.records().await?;
        let user = records.iter().find(|user| user.name == username);
        Ok(user.map_or_else(|| username.to_owned(), |user| user.person_id().to_string()))
    }

    /// Ends the grants of a user and the sessions of the sign-in, if there is one.
    pub(crate) async fn end_sign_ins(&self, username: &str) -> Result<(), Refusal> {
        let Some(store) = &self.0.grants else {
            return Ok(());
        };
        let person = self.person(username).await?;
        let ended = async {
            store.end_grants(&person, Why::Administrator, now()).await?;
            store.end_sessions(&person).await
        };
        ended.await.map_err(unavailable)
    }
}

// === impl AdminGrant ===

impl AdminGrant {
    /// Describes a grant; `None` if a moment of it is no date.
    fn new(grant: Grant, names: &HashMap<String, String>) -> Option<Self> {
        let username = PersonId::read(&grant.person);
        Some(Self {
            id: BASE64_URL_SAFE_NO_PAD.encode(grant.id),
            username: username.map_or(grant.person, |person| person.name().to_owned()),
            client_name: names.get(&grant.client).cloned(),
            client_id: grant.client,
            resource: grant.resource,
            scope: grant.scope,
            databases: grant.databases,
            created_at: moment(grant.made_at)?,
            last_used_at: moment(grant.used_at)?,
            expires_at: moment(grant.ends_at)?,
        })
    }
}

/// Lists the grants
///
/// A grant is the permission of a user for a client, or a session of the console after a sign-in with
/// a browser. With `username` the list has the grants of this user only, else 10,000 at most.
#[utoipa::path(get, path = "/api/admin/grants", tag = "Administration",
    operation_id = "admin_list_grants",
    params(("username" = Option<String>, Query, description = "The name of a user")),
    responses(
        (status = 200, description = "The grants that have not ended", body = Grants),
        (status = 400, description = "`bad_request`: the query is malformed"),
        (status = 403, description = "`not_admin`: for administrators only"),
        (status = 404, description = "`sign_in_off`: people do not sign in with browsers here"),
    ),
)]
pub(crate) async fn list(
    _: Administrator,
    State(api): State<AdminApi>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Grants>, Refusal> {
    let message = "The query is malformed";
    let Query(ListQuery { username }) = query.map_err(|_| invalid("bad_request", message))?;
    let store = api.sign_ins()?;
    let grants = match username {
        Some(name) => {
            let person = api.person(&name).await?;
            store.grants(&person, now()).await.map_err(unavailable)?
        }
        None => store.list_grants(now()).await.map_err(unavailable)?,
    };
    let clients = store.list_clients().await.map_err(unavailable)?;
    let clients = clients.into_iter();
    let names = clients.map(|client| (client.id, client.name)).collect();
    let grants = grants.into_iter();
    let grants = grants.filter_map(|grant| AdminGrant::new(grant, &names));
    Ok(Json(Grants {
        grants: grants.collect(),
    }))
}

/// Ends a grant
///
/// Its tokens and its session of the console end within a second; at other replicas within 10 seconds.
#[utoipa::path(delete, path = "/api/admin/grants/{id}", tag = "Administration",
    operation_id = "admin_end_grant",
    params(("id" = String, Path, description = "The id of the grant")),
    responses(
        (status = 204, description = "The grant has ended"),
        (status = 403, description = "`not_admin`: for administrators only; `sign_in_again`: the \
            sign-in is older than 15 minutes"),
        (status = 404, description = "`not_found`: there is no such grant; `sign_in_off`: people do \
            not sign in with browsers here"),
    ),
)]
pub(crate) async fn remove(
    _: RecentAdministrator,
    State(api): State<AdminApi>,
    id: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, Refusal> {
    let store = api.sign_ins()?;
    let id = id.ok().and_then(|Path(id)| grant_id(&id));
    let message = "There is no such grant";
    let unknown = || Refusal::new(StatusCode::NOT_FOUND, "not_found", message);
    let id = id.ok_or_else(unknown)?;
    let ended = store.end_grant(id, Why::Administrator, now()).await;
    if !ended.map_err(unavailable)? {
        return Err(unknown());
    }
    Ok(StatusCode::NO_CONTENT)
}

fn grant_id(text: &str) -> Option<GrantId> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

fn moment(seconds: Seconds) -> Option<Timestamp> {
    Timestamp::from_second(seconds.try_into().ok()?).ok()
}

fn now() -> Seconds {
    Timestamp::now().as_second().try_into().unwrap_or_default()
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> Refusal {
    Refusal::fault(
        "The grants cannot be read or ended",
        ErrorDetail::new(error),
    )
}
