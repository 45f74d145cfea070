//! `/api/activity`: lists statements, and cancels one.

use std::{fmt, sync::Arc};

use axum::{
    Json, Router,
    extract::{Path, Query, State, rejection::PathRejection, rejection::QueryRejection},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{Extensions, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use ziggurat_http::ErrorAndCode;
use ziggurat_tokens::Identity;

use crate::{
    Caller,
    activity::{
        Activity, Reader,
        latency::ToolLatency,
        shown::{Finished, RunningStatement},
    },
};

type Refusal = ziggurat_http::Refusal<ErrorAndCode>;

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, cancel))]
pub struct Description;

/// Counts the connections of the databases that a caller may use, with the extensions of its request.
type CountConnections = dyn Fn(&Extensions) -> Vec<Connections> + Send + Sync;

/// State of the endpoints. Clones share it.
#[derive(Clone)]
pub struct ActivityApi {
    activity: Activity,
    /// The name of this server among its replicas.
    replica: Arc<str>,
    connections: Arc<CountConnections>,
}

/// Connections of a database.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = DatabaseConnections)]
pub struct Connections {
    /// Name of the database.
    pub database: String,
    /// Connections that statements use.
    pub in_use: u64,
    /// Open connections that no statement uses.
    pub idle: u64,
    /// Statements that wait.
    pub waiting: u64,
    /// Maximum number of connections.
    pub limit: u64,
}

/// The statements of a server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Activity)]
pub(crate) struct Listed {
    /// The server that answers: each replica lists its own statements.
    replica: String,
    /// Statements that run, the oldest first.
    running: Vec<RunningStatement>,
    /// Of the last 200 statements those of the caller, or all, the latest first.
    finished: Vec<Finished>,
    /// Times of the statements within the last five minutes, by tool: of those that have ended of the
    /// caller, or of all.
    latency: Vec<ToolLatency>,
    /// Connections of the databases that the caller may use.
    connections: Vec<Connections>,
}

/// Callers whose statements are listed.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Scope {
    /// Those of the caller.
    #[default]
    Own,
    /// Those of all callers.
    All,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListQuery {
    scope: Scope,
}

/// A statement that is being cancelled.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = Cancelling)]
struct Cancelling {
    /// Always true.
    cancelling: bool,
}

// === impl ActivityApi ===

impl ActivityApi {
    /// Serves these statements of a replica. `connections` counts the connections of the databases
    /// that the caller of a request may use.
    #[must_use]
    pub fn new(
        activity: Activity,
        replica: impl Into<Arc<str>>,
        connections: impl Fn(&Extensions) -> Vec<Connections> + Send + Sync + 'static,
    ) -> Self {
        Self {
            activity,
            replica: replica.into(),
            connections: Arc::new(connections),
        }
    }
}

impl fmt::Debug for ActivityApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivityApi").finish_non_exhaustive()
    }
}

/// Returns the routes that show statements, and the routes that cancel them: programs poll the former.
pub fn routes(api: ActivityApi) -> [Router; 2] {
    let lists = Router::new().route("/api/activity", get(list));
    let cancels = Router::new().route("/api/activity/{id}/cancel", post(cancel));
    [lists.with_state(api.clone()), cancels.with_state(api)]
}

/// Returns whether a request asks for the statements of all callers.
#[must_use]
pub fn is_for_all(uri: &Uri) -> bool {
    let query = Query::<ListQuery>::try_from_uri(uri);
    query.is_ok_and(|Query(query)| matches!(query.scope, Scope::All))
}

/// Lists the statements that run and that have ended
///
/// A caller gets its own statements; administrators get all with `scope=all`.
#[utoipa::path(get, path = "/api/activity", tag = "Activity", operation_id = "list_activity",
    params(("scope" = Option<String>, Query, pattern = "^(own|all)$",
        description = "`own`, the default, or `all`")),
    responses(
        (status = 200, description = "The statements of this server", body = Listed),
        (status = 400, description = "`bad_request`: there is no such scope"),
        (status = 403, description = "`not_admin`: all statements are for administrators only"),
    ),
)]
pub(crate) async fn list(
    State(api): State<ActivityApi>,
    query: Result<Query<ListQuery>, QueryRejection>,
    extensions: Extensions,
) -> Result<Json<Listed>, Refusal> {
    let Ok(Query(ListQuery { scope })) = query else {
        let message = "The scope is neither own nor all";
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "bad_request",
            message,
        ));
    };
    let identity: Option<&Identity> = extensions.get();
    let reads_all = match scope {
        Scope::Own => false,
        Scope::All if identity.is_some_and(Identity::is_admin) => true,
        Scope::All => {
            let (status, message) = (StatusCode::FORBIDDEN, "Administrators only");
            return Err(Refusal::new(status, "not_admin", message));
        }
    };
    let reader = Reader {
        caller: Caller::new(identity),
        reads_all,
        // Without authentication, the operator is the caller.
        has_texts: identity.is_none_or(Identity::is_admin),
    };
    let ActivityApi {
        activity,
        replica,
        connections,
    } = &api;
    Ok(Json(Listed {
        replica: replica.to_string(),
        running: activity.running(reader),
        finished: activity.finished(reader),
        latency: activity.latency(reader.own()),
        connections: connections(&extensions),
    }))
}

/// Cancels a statement
///
/// It ends as if its client had hung up, and its caller gets an error that says so. One's own
/// statements can be cancelled, and any by administrators.
#[utoipa::path(post, path = "/api/activity/{id}/cancel", tag = "Activity",
    operation_id = "cancel_statement",
    params(("id" = String, Path, description = "The id in the list")),
    responses(
        (status = 202, description = "The statement is being cancelled", body = Cancelling),
        (status = 404, description = "`no_such_statement`: it has ended, or is not the caller's"),
    ),
)]
pub(crate) async fn cancel(
    State(api): State<ActivityApi>,
    id: Result<Path<String>, PathRejection>,
    extensions: Extensions,
) -> Result<Response, Refusal> {
    let identity: Option<&Identity> = extensions.get();
    let is_admin = identity.is_some_and(Identity::is_admin);
    let caller = Caller::new(identity);
    let is_cancelled = id.is_ok_and(|Path(id)| api.activity.cancel(&id, caller, is_admin));
    if !is_cancelled {
        let message = "There is no such statement, or it has ended";
        return Err(Refusal::new(
            StatusCode::NOT_FOUND,
            "no_such_statement",
            message,
        ));
    }
    let cancelling = Cancelling { cancelling: true };
    Ok((StatusCode::ACCEPTED, Json(cancelling)).into_response())
}
