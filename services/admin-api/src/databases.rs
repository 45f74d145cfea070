//! `/api/admin/databases`: lists all databases, and tests one of them.

use std::time::{Duration, Instant};

use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header::RETRY_AFTER};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};
use ziggurat_databases::{Entry, Overview, Tested};
use ziggurat_http::PartReport;
use ziggurat_runtime::lock;

use crate::{AdminApi, Refusal, administrator::Administrator};

/// Time between two tests of a database.
const TEST_INTERVAL: Duration = Duration::from_secs(1);

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, test))]
pub struct Description;

/// All databases.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AdminDatabases)]
pub(crate) struct Databases {
    /// The databases in the order of the configuration.
    databases: Vec<AdminDatabase>,
}

/// A database, without its password.
#[derive(Debug, Serialize, ToSchema)]
struct AdminDatabase {
    #[serde(flatten)]
    entry: Entry,
    /// Is true if statements may call functions with effects beyond their transaction.
    allow_dangerous_functions: bool,
    /// Users that may use it; empty for all.
    available_to_users: Vec<String>,
    /// Clients of an issuer that may use it; empty for all.
    available_to_clients: Vec<String>,
    status: Status,
    /// Time of the last check, which takes place every few seconds.
    #[schema(value_type = Option<String>, format = DateTime)]
    checked_at: Option<Timestamp>,
    /// Version of the server, once its tables are known.
    version: Option<String>,
    /// Number of tables that the role sees, once they are known.
    tables: Option<usize>,
    connections: Connections,
}

/// State of a database at the last check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AdminDatabaseStatus)]
enum Status {
    /// It has not been checked yet.
    Unknown,
    /// It accepts connections.
    Ready,
    /// It does not.
    Unreachable,
}

/// Connections of all callers to a database.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AdminDatabaseConnections)]
struct Connections {
    in_use: usize,
    idle: usize,
    /// Callers that wait because the limit is reached.
    waiting: usize,
    limit: usize,
}

/// Result of a test. What could not be found out is null.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = AdminDatabaseTest)]
struct TestResult {
    /// Is true if the connection works.
    ok: bool,
    /// Duration of the test in milliseconds.
    ms: u64,
    /// Version of the server.
    version: Option<String>,
    /// Is true if the connection is encrypted.
    tls: Option<bool>,
    /// Is true if the server only follows another one.
    standby: Option<bool>,
    role: Option<Role>,
    extensions: Option<Vec<Extension>>,
    /// Sentences about what should be changed.
    warnings: Vec<String>,
    /// Reason why the test failed.
    error: Option<String>,
}

/// Rights of the role that runs statements.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AdminDatabaseRole)]
struct Role {
    superuser: bool,
    /// Is true if the role may change a table or create one. Statements may only if `allow_writes` is
    /// true as well.
    may_write: bool,
    /// Is true if policies of row-level security do not apply to the role.
    bypasses_row_security: bool,
}

/// An extension of a database.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AdminDatabaseExtension)]
struct Extension {
    name: String,
    version: String,
}

// === impl AdminApi ===

impl AdminApi {
    /// Returns whether a test may begin, and remembers that it does.
    fn begins_test(&self, name: &str) -> bool {
        let now = Instant::now();
        let mut begun = lock(&self.0.tests);
        begun.retain(|_, began| now - *began < TEST_INTERVAL);
        if begun.contains_key(name) {
            return false;
        }
        // Only names of databases come here, so there are not many.
        begun.insert(name.to_owned(), now);
        true
    }
}

// === impl AdminDatabase ===

impl AdminDatabase {
    fn new(overview: Overview, parts: &[PartReport]) -> Self {
        let part = parts.iter().find(|part| part.name == overview.entry.name);
        let connections = overview.connections;
        Self {
            status: match part.and_then(|part| part.is_available) {
                None => Status::Unknown,
                Some(true) => Status::Ready,
                Some(false) => Status::Unreachable,
            },
            checked_at: part
                .and_then(|part| part.checked_at)
                .and_then(|at| Timestamp::try_from(at).ok()),
            entry: overview.entry,
            allow_dangerous_functions: overview.allow_dangerous_functions,
            available_to_users: overview.users,
            available_to_clients: overview.clients,
            version: overview.version,
            tables: overview.tables,
            connections: Connections {
                in_use: connections.in_use,
                idle: connections.idle,
                waiting: connections.waiting,
                limit: connections.limit,
            },
        }
    }
}

// === impl TestResult ===

impl TestResult {
    fn good(tested: Tested, statements: Vec<String>) -> Self {
        let found = tested.found;
        let extensions = found.extensions.into_iter().map(|extension| Extension {
            name: extension.name,
            version: extension.version,
        });
        Self {
            ok: true,
            version: Some(found.version),
            tls: Some(found.has_tls),
            standby: Some(found.is_standby),
            role: Some(Role {
                superuser: found.role.is_superuser,
                may_write: found.role.may_write,
                bypasses_row_security: found.role.bypasses_row_security,
            }),
            extensions: Some(extensions.collect()),
            warnings: [tested.warnings, statements].concat(),
            ..Self::default()
        }
    }
}

/// Lists all databases
#[utoipa::path(get, path = "/api/admin/databases", tag = "Administration",
    operation_id = "admin_list_databases",
    responses(
        (status = 200, description = "The databases, without their passwords", body = Databases),
        (status = 403, description = "`not_admin`: for administrators only"),
        (status = 404, description = "The server needs no sign-in"),
    ),
)]
pub(crate) async fn list(_: Administrator, State(api): State<AdminApi>) -> Json<Databases> {
    let parts = api.0.readiness.parts();
    let databases = api.0.databases.overview().into_iter();
    let databases = databases.map(|it| AdminDatabase::new(it, &parts)).collect();
    Json(Databases { databases })
}

/// Tests a database
///
/// Connects once, looks at the server and the role, and has the statements of the operator's tools
/// checked. Takes some seconds at most. A failed test is an answer with `ok: false`.
#[utoipa::path(post, path = "/api/admin/databases/{name}/test", tag = "Administration",
    operation_id = "admin_test_database",
    params(("name" = String, Path, description = "The configured name of the database")),
    responses(
        (status = 200, description = "The result", body = TestResult),
        (status = 403, description = "`not_admin`: for administrators only"),
        (status = 404, description = "`not_found`: there is no such database"),
        (status = 429, description = "`too_many_requests`: a database can be tested once a second",
            headers(("Retry-After" = u64, description = "Seconds until the next test"))),
    ),
)]
pub(crate) async fn test(
    _: Administrator,
    State(api): State<AdminApi>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    let Ok(Path(name)) = name else {
        return Err(Refusal::not_found());
    };
    if !api.0.databases.permits(None, &name) {
        let message = format!("unknown database: {name}");
        return Err(Refusal::new(StatusCode::NOT_FOUND, "not_found", message));
    }
    if !api.begins_test(&name) {
        let message = "A database can be tested once a second: try again";
        let status = StatusCode::TOO_MANY_REQUESTS;
        let refusal = Refusal::new(status, "too_many_requests", message);
        let retry_after = HeaderValue::from(TEST_INTERVAL.as_secs());
        return Ok(([(RETRY_AFTER, retry_after)], refusal).into_response());
    }
    let began = Instant::now();
    let result = match api.0.databases.test(&name).await {
        // A reload has removed it meanwhile.
        None => return Err(Refusal::not_found()),
        Some(Ok(tested)) => TestResult::good(tested, api.0.program.0.check_statements(&name).await),
        Some(Err(error)) => TestResult {
            error: Some(error.to_string()),
            ..TestResult::default()
        },
    };
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Json(TestResult { ms, ..result }).into_response())
}
