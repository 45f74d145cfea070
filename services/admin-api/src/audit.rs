//! `/api/admin/audit`: searches the audit trail.

use axum::{
    Json, Router,
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::task::spawn_blocking;
use utoipa::{OpenApi, ToSchema};
use ziggurat_audit::{Audit, Page, Search};
use ziggurat_layers::sanitize::ErrorDetail;
use ziggurat_runtime::escape::is_formula;

use crate::{Refusal, administrator::Administrator};

/// Number of records unless the request names another.
const USUAL_LIMIT: usize = 100;

/// Maximum number of records.
const MAX_LIMIT: usize = 500;

/// Header of the member `next` in a response of lines.
const NEXT: HeaderName = HeaderName::from_static("ziggurat-next");

/// Columns of a response of lines, each with the place of its value in a record.
const COLUMNS: [(&str, &str); 16] = [
    ("at", "/at"),
    ("seq", "/seq"),
    ("kind", "/kind"),
    ("caller_kind", "/caller/kind"),
    ("caller", "/caller/name"),
    ("ip", "/caller/ip"),
    ("transport", "/transport"),
    ("method", "/method"),
    ("tool", "/tool"),
    ("database", "/database"),
    ("statement", "/statement/text"),
    ("rows", "/rows"),
    ("bytes", "/bytes"),
    ("ms", "/ms"),
    ("verdict", "/verdict"),
    ("code", "/code"),
];

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(search))]
pub struct Description;

/// State of the endpoint: the audit trail, if there is one.
#[derive(Clone, Debug)]
pub(crate) struct AuditApi(Option<Audit>);

/// Records that are searched.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SearchQuery {
    from: Option<String>,
    to: Option<String>,
    caller: String,
    tool: String,
    database: String,
    verdict: String,
    statements: bool,
    q: String,
    limit: Option<usize>,
    before: Option<String>,
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Json,
    Csv,
}

/// Records of the audit trail.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditRecords)]
struct Found {
    /// The records as they were written, the latest first.
    #[schema(value_type = Vec<Object>)]
    records: Vec<Box<RawValue>>,
    /// Value of `before` for the next page; null if there are no more records. A search of a large
    /// trail may end early, with few records or none.
    next: Option<String>,
    /// `intact` or `broken`, if all files were verified, else `unchecked`: those of more than 32 MiB
    /// are not, and neither are they for later pages.
    chain: &'static str,
}

/// Returns the route of this area, for the audit trail of a server.
pub fn routes(audit: Option<Audit>) -> Router {
    Router::new()
        .route("/api/admin/audit", get(search))
        .with_state(AuditApi(audit))
}

/// Searches the audit trail
///
/// The records come from the files of the trail, old ones included, the latest first. The lines that
/// say that a call is about to run are left out: those of its end have the same members.
#[utoipa::path(get, path = "/api/admin/audit", tag = "Administration",
    operation_id = "admin_search_audit",
    params(
        ("from" = Option<String>, Query, description = "Records from this time on, as RFC 3339"),
        ("to" = Option<String>, Query, description = "Records before this time, as RFC 3339"),
        ("caller" = Option<String>, Query, description = "The name of the caller, or kind and name \
            such as `user:alice`"),
        ("tool" = Option<String>, Query, description = "The tool, or the method of other calls"),
        ("database" = Option<String>, Query, description = "The database"),
        ("verdict" = Option<String>, Query, description = "The word for the end of the call"),
        ("statements" = Option<bool>, Query, description = "`true` for records with a statement only"),
        ("q" = Option<String>, Query, description = "Words of the record, in any case"),
        ("limit" = Option<usize>, Query, description = "Number of records: 100 unless named, 500 \
            at most"),
        ("before" = Option<String>, Query, description = "The member `next` of the page before"),
        ("format" = Option<String>, Query, description = "`json`, the default, or `csv`, which has \
            `next` in the header `Ziggurat-Next` and its column names on the first page only"),
    ),
    responses(
        (status = 200, description = "The records", content(
            (Found = "application/json"), (String = "text/csv"))),
        (status = 400, description = "`bad_request`: a value is not valid"),
        (status = 403, description = "`not_admin`: for administrators only"),
        (status = 404, description = "`audit_off`: there is no file with an audit trail"),
    ),
)]
pub(crate) async fn search(
    _: Administrator,
    State(AuditApi(audit)): State<AuditApi>,
    query: Result<Query<SearchQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(query) = query.map_err(|error| invalid(error.body_text()))?;
    let audit = audit.ok_or_else(audit_off)?;
    let format = query.format;
    let search = query.search()?;
    let is_first = search.before.is_none();
    let page = spawn_blocking(move || audit.search(&search)).await;
    let page = page.map_err(unreadable)?.map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            invalid("There is no such page any more: begin without 'before'")
        } else {
            unreadable(error)
        }
    })?;
    let page = page.ok_or_else(audit_off)?;
    Ok(match format {
        Format::Json => Json(Found::of(page)).into_response(),
        Format::Csv => lines(&page, is_first),
    })
}

// === impl SearchQuery ===

impl SearchQuery {
    fn search(self) -> Result<Search, Refusal> {
        let limit = self.limit.unwrap_or(USUAL_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(invalid(format!("'limit' is not between 1 and {MAX_LIMIT}")));
        }
        let before = self.before.filter(|text| !text.is_empty());
        let before = before.map(|text| text.parse()).transpose();
        Ok(Search {
            from: time("from", self.from)?,
            to: time("to", self.to)?,
            caller: self.caller,
            tool: self.tool,
            database: self.database,
            verdict: self.verdict,
            has_statement: self.statements,
            words: self.q,
            limit,
            before: before.map_err(|error| invalid(format!("'before' is {error}")))?,
        })
    }
}

// === impl Found ===

impl Found {
    fn of(page: Page) -> Self {
        // Each is a line of JSON.
        let records = page.records.into_iter();
        let records = records.filter_map(|line| RawValue::from_string(line).ok());
        Self {
            records: records.collect(),
            next: page.next.map(|next| next.to_string()),
            chain: page.chain.as_str(),
        }
    }
}

/// Writes a page as lines for spreadsheets. Only the first page has the names of the columns, so that
/// pages can be put behind each other.
fn lines(page: &Page, is_first: bool) -> Response {
    let mut text = String::new();
    if is_first {
        text.push_str(&COLUMNS.map(|(name, _)| name).join(","));
        text.push_str("\r\n");
    }
    for record in &page.records {
        let record: serde_json::Value = serde_json::from_str(record).unwrap_or_default();
        for (index, (_, place)) in COLUMNS.into_iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            match record.pointer(place) {
                None | Some(serde_json::Value::Null) => {}
                Some(serde_json::Value::String(value)) => write_field(&mut text, value),
                Some(value) => write_field(&mut text, &value.to_string()),
            }
        }
        text.push_str("\r\n");
    }
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"audit.csv\""),
    ];
    let mut response = (headers, text).into_response();
    let next = page.next.map(|next| next.to_string());
    if let Some(next) = next.and_then(|next| HeaderValue::try_from(next).ok()) {
        response.headers_mut().insert(NEXT, next);
    }
    response
}

/// Writes a value in quotes. What spreadsheets take for a formula gets an apostrophe: clients choose
/// some of the texts.
fn write_field(text: &mut String, value: &str) {
    text.push('"');
    if is_formula(value) {
        text.push('\'');
    }
    text.push_str(&value.replace('"', "\"\""));
    text.push('"');
}

fn time(name: &str, text: Option<String>) -> Result<Option<Timestamp>, Refusal> {
    let text = text.filter(|text| !text.is_empty());
    let time = text.map(|text| text.parse()).transpose();
    time.map_err(|_| invalid(format!("'{name}' is no time such as 2026-11-26T10:00:00Z")))
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "bad_request", message)
}

fn audit_off() -> Refusal {
    let message = "There is no file with an audit trail: set audit.file in the configuration";
    Refusal::new(StatusCode::NOT_FOUND, "audit_off", message)
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Refusal {
    Refusal::fault("The audit trail cannot be read", ErrorDetail::new(error))
}
