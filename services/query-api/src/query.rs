//! `POST /api/query`: runs a statement and streams its rows.

use std::time::Duration;

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, header::CONTENT_TYPE};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{OpenApi, ToSchema};
use ziggurat_http::{ErrorAndCode, Payload};

use crate::{
    QueryApi,
    columns::DescribedColumn,
    error_line::ErrorLine,
    lines,
    prepare::Asked,
    request::QueryCaller,
    stop::{ConfirmationDemand, Stop},
};

/// Number of rows, unless the request names another.
const DEFAULT_ROWS: u64 = 1000;

const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(run), components(schemas(DescribedColumn, ErrorLine)))]
pub struct Description;

/// A statement to run.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Query)]
struct QueryRequest {
    /// The statement.
    #[schema(value_type = String, min_length = 1)]
    sql: Option<String>,
    /// Name of the database; without, the selected one.
    database: Option<String>,
    /// Maximum number of rows: 1,000 unless named. The limit of the server applies.
    max_rows: Option<u64>,
    /// Maximum time in milliseconds, at least 1. The limit of the database applies.
    #[schema(minimum = 1)]
    timeout_ms: Option<u64>,
    /// The seal of the response 409, for a statement that may write.
    confirm: Option<String>,
    /// `only` to get the rows that the statement would change, in a database with previews. Nothing is
    /// committed.
    preview: Option<String>,
    /// True to get a statement that undoes the changes, after a preview that was confirmed.
    #[serde(default)]
    undo: bool,
    /// `true` asks for a receipt, `"rows"` for one with a digest of each row, where the server has
    /// them.
    #[schema(value_type = Option<Object>)]
    receipt: Option<Value>,
}

/// Runs a statement, and returns its rows as they come
///
/// The response has a JSON object on each line: `{"started": {"id", "database", "read_only"}}`,
/// `{"columns": […]}`, any number of `{"rows": [[…]]}`, and at the end exactly one of
/// `{"done": {"rows", "truncated", "command", "affected", "notices", "ms"}}` and `{"error": {…}}`. A
/// response without one of these two broke off. `done` has `"committed": true` after a preview that was
/// confirmed. With `"undo": true` in the request it has `undo`: a statement that undoes the changes, or
/// null and the `reason`. With a receipt it has the member `receipt`. `truncated` is `rows` or `bytes` if there are more
/// rows, else null. Values are those of structured results; of one with more than 64 KiB the
/// beginning is sent, as `{"cut": …, "bytes": n}`. A client that hangs up cancels the statement.
#[utoipa::path(post, path = "/api/query", tag = "Query", operation_id = "run_query",
    request_body = QueryRequest,
    responses(
        (status = 200, description = "The statement runs; the lines tell how it ends",
            content_type = "application/x-ndjson", body = String),
        (status = 400, description = "`bad_request`: the body is not valid; `no_sql`: there is no \
            statement"),
        (status = 403, description = "`denied`: no database is available to this caller; \
            `not_available`: statements are not"),
        (status = 404, description = "`not_found`: the caller has no such database"),
        (status = 409, description = "`confirm`: the statement may write; send it again with the \
            member `confirm`. `changed`: the data have changed since the preview that was \
            confirmed", body = ConfirmationDemand),
        (status = 422, description = "`no_preview`: the database demands a preview, or the request \
            does, and there is none"),
        (status = 429, description = "A limit of the caller is reached"),
        (status = 503, description = "`unreachable`: the database cannot be reached; `busy`: the \
            session runs two statements, or there is no free connection; `cancelled`: it was \
            cancelled while it waited; `not_committed`: the connection was lost, and the change was \
            not committed; `unknown`: it is not known whether it was"),
    ),
)]
pub(crate) async fn run(
    State(api): State<QueryApi>,
    caller: QueryCaller,
    payload: Payload<ErrorAndCode>,
) -> Result<Response, Stop> {
    let request: QueryRequest = payload
        .object()
        .map_err(|error| Stop::bad_request(format!("Invalid request body: {error}")))?;
    if request.timeout_ms == Some(0) {
        // PostgreSQL takes 0 for no limit.
        let message =
            "timeout_ms must be at least 1; without it, the limit of the database applies";
        return Err(Stop::bad_request(message));
    }
    if request.preview.as_deref().is_some_and(|it| it != "only") {
        return Err(Stop::bad_request("preview must be \"only\""));
    }
    let receipt = api.receipt(request.receipt.as_ref(), &payload, &caller);
    // The statement is held once while it runs.
    drop(payload);
    let asked = Asked {
        sql: request.sql.as_deref().unwrap_or_default(),
        database: request.database.as_deref(),
        max_rows: request.max_rows.unwrap_or(DEFAULT_ROWS),
        timeout: request.timeout_ms.map(Duration::from_millis),
        confirm: request.confirm.as_deref(),
        is_preview: request.preview.is_some(),
        wants_undo: request.undo,
    };
    let (running, rows) = api.prepare(caller, &asked, receipt).await?;
    let (max_bytes, cut_off) = (api.limits.max_query_bytes, api.cut_off.happened());
    let lines = lines::lines(running, rows, max_bytes, cut_off);
    Ok(([(CONTENT_TYPE, NDJSON)], Body::from_stream(lines)).into_response())
}
