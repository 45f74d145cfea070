//! `/api/exports`: the rows of a query as a file.
//!
//! A browser downloads from an address, so an export is made in two steps: a request checks the
//! query and gets a link, and the link runs the query and streams the file. It works once, within a
//! minute, for the session that made it.

mod file;
mod format;
mod links;

use std::time::Duration;

use axum::{
    Json,
    body::Body,
    extract::{Path, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderValue, Method, StatusCode,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use ziggurat_audit::Verdict;
use ziggurat_http::{ErrorAndCode, Payload, Refusal};
use ziggurat_postgres::{
    error::QueryError, notices::Notices, single_round_trip, statement::Statement,
};

pub(crate) use self::links::Links;
use self::{
    format::ExportFormat,
    links::{Export, LIFETIME},
};
use crate::{QueryApi, error_line::ErrorLine, prepare::Asked, request::QueryCaller, stop::Stop};

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(create, fetch))]
pub struct Description;

/// A query whose rows become a file.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ExportRequest)]
struct ExportRequest {
    /// The query; it may not write.
    #[schema(value_type = String, min_length = 1)]
    sql: Option<String>,
    /// Name of the database; without, the selected one.
    database: Option<String>,
    /// The format of the file.
    format: ExportFormat,
    /// Maximum number of rows. The limit of the server applies.
    max_rows: Option<u64>,
    /// Puts an apostrophe before texts that spreadsheets take for formulas, in CSV and TSV.
    guard_formulas: Option<bool>,
}

/// The link of an export.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ExportLink)]
struct Link {
    /// Path of the file. It works once, for the session that made it.
    href: String,
    /// End of the link.
    expires_at: String,
}

/// Prepares a file with the rows of a query
#[utoipa::path(post, path = "/api/exports", tag = "Query", operation_id = "create_export",
    request_body = ExportRequest,
    responses(
        (status = 201, description = "The query is valid; the link runs it", body = Link),
        (status = 400, description = "`bad_request`, `no_sql`: as for queries; `not_a_query`: the \
            statement may write; `failed`, `refused`: it cannot run"),
        (status = 403, description = "`denied`: no database is available to this caller; \
            `not_available`: exports are not"),
        (status = 404, description = "`not_found`: the caller has no such database"),
        (status = 429, description = "A limit of the caller is reached"),
        (status = 503, description = "`unreachable`: the database cannot be reached; `busy`: there \
            is no free connection, or too many links wait"),
        (status = 504, description = "`timeout`: the database did not answer in time"),
    ),
)]
pub(crate) async fn create(
    State(api): State<QueryApi>,
    caller: QueryCaller,
    payload: Payload<ErrorAndCode>,
) -> Result<Response, Stop> {
    let request: ExportRequest = payload
        .object()
        .map_err(|error| Stop::bad_request(format!("Invalid request body: {error}")))?;
    drop(payload);
    if !caller.rights.is_unlimited {
        let message = "Exports are not available to API tokens and clients, unless a toolset of \
                       theirs names the area query";
        return Err(Stop::new(StatusCode::FORBIDDEN, "not_available", message));
    }
    let sql = request.sql.unwrap_or_default();
    let current = caller.available(&sql, request.database.as_deref()).await?;
    let statement = match Statement::read_only(current.database(), &sql) {
        Ok(statement) => statement,
        Err(error) => return Err(refused(&caller, &error, &current, &sql)),
    };
    if !statement.only_reads() {
        let message = "Only queries can be exported, and this statement may write";
        return Err(Stop::new(StatusCode::BAD_REQUEST, "not_a_query", message));
    }
    caller.call.open().await?;
    let lease = current.pool().lease().await?;
    if let Err(error) = single_round_trip::prove(lease, statement.text()).await {
        return Err(refused(&caller, &error, &current, &sql));
    }
    caller.call.note(Verdict::Ok);
    let id = api.links.add(Export {
        owner: caller.owner(),
        maker: caller.identity.clone(),
        database: current.label().to_owned(),
        sql,
        format: request.format,
        max_rows: request.max_rows.unwrap_or(u64::MAX),
        is_guarded: request.guard_formulas.unwrap_or_default(),
    })?;
    let expires_at = Timestamp::now()
        .checked_add(LIFETIME)
        .unwrap_or(Timestamp::MAX);
    let link = Link {
        href: format!("/api/exports/{id}"),
        expires_at: expires_at.to_string(),
    };
    Ok((StatusCode::CREATED, Json(link)).into_response())
}

/// Runs the query of an export, and streams its rows as a file
///
/// A failure after the first row breaks the connection off, so that no client takes the file for
/// whole. In CSV (RFC 4180) and TSV a NULL is an empty field and an empty text is `""`.
#[utoipa::path(get, path = "/api/exports/{id}", tag = "Query", operation_id = "fetch_export",
    params(("id" = String, Path, description = "The id in the link")),
    responses(
        (status = 200, description = "The file", content_type = "text/csv", body = String),
        (status = 400, description = "`failed`: the query failed before its first row"),
        (status = 404, description = "`gone`: the link was used, has ended, or belongs to another \
            session"),
        (status = 429, description = "A limit of the caller is reached"),
        (status = 503, description = "`unreachable`: the database cannot be reached; `busy`: the \
            session runs two statements, or there is no free connection; `cancelled`: it was \
            cancelled before its first row"),
        (status = 504, description = "`timeout`: the database did not answer in time"),
    ),
)]
pub(crate) async fn fetch(
    State(api): State<QueryApi>,
    method: Method,
    caller: QueryCaller,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Stop> {
    if method == Method::HEAD {
        // It would use up the link.
        return Err(Refusal::no_such_method().into());
    }
    let running = api.enter(&caller)?;
    let id = id.ok().map(|Path(id)| id);
    let export = id.and_then(|id| api.links.take(&id, &caller.owner()));
    let export = export.ok_or_else(gone)?;
    let current = caller
        .available(&export.sql, Some(&export.database))
        .await?;
    let asked = Asked {
        is_preview: false,
        wants_undo: false,
        sql: &export.sql,
        database: None,
        max_rows: export.max_rows,
        timeout: None::<Duration>,
        confirm: None,
    };
    let statement = match Statement::read_only(current.database(), &export.sql) {
        Ok(statement) => api.limited(statement, &caller, &asked, api.limits.export_rows()),
        Err(error) => return Err(refused(&caller, &error, &current, &export.sql)),
    };
    let running = running.begin(
        caller,
        current,
        &export.sql,
        Some(&statement),
        Notices::default(),
    );
    let lease = running.admitted(&export.sql).await?;
    let call = running.caller.call.clone();
    let rows = match call.or_cancelled(statement.run(lease)).await? {
        Ok(rows) => rows,
        Err(error) => {
            let current = &running.current;
            return Err(refused(&running.caller, &error, current, &export.sql));
        }
    };
    let headers = [
        (CONTENT_TYPE, export.format.content_type()),
        (CONTENT_DISPOSITION, export.disposition()),
    ];
    let file = file::pieces(running, rows, export.format, export.is_guarded);
    Ok((headers, Body::from_stream(file)).into_response())
}

/// Refuses a request for an export that does not exist for its caller.
#[must_use]
pub fn gone() -> Refusal<ErrorAndCode> {
    let message = "This link was used, has ended, or belongs to another session";
    Refusal::new(StatusCode::NOT_FOUND, "gone", message)
}

// === impl Export ===

impl Export {
    /// Returns the header that names the file.
    fn disposition(&self) -> HeaderValue {
        let is_plain = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
        let name: String = self.database.chars().filter(is_plain).collect();
        let name = if name.is_empty() { "export" } else { &name };
        let extension = self.format.extension();
        let header = format!("attachment; filename=\"{name}.{extension}\"");
        HeaderValue::try_from(header).expect("letters and digits")
    }
}

/// Refuses a query that cannot run.
fn refused(
    caller: &QueryCaller,
    error: &QueryError,
    current: &ziggurat_databases::Current,
    sql: &str,
) -> Stop {
    if matches!(error, QueryError::Empty) {
        return Stop::no_sql();
    }
    caller.call.set_error(error);
    caller.call.note_error();
    let error = ErrorLine::new(error, current, crate::prepare::leading_white_space(sql));
    let status = match error.code {
        "connection_lost" | "busy" => StatusCode::SERVICE_UNAVAILABLE,
        "timeout" => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_REQUEST,
    };
    Stop::new(status, error.code, error.message)
}
