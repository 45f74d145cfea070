//! `GET /api/schema`: the tables of a database, for pages that show them.

#![expect(
    unused_qualifications,
    reason = "the description of an endpoint qualifies its parameters"
)]

mod catalogue;
mod described;
mod storage;

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    body::Body,
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH},
};
use serde::Deserialize;
use tokio::sync::Mutex as AsyncMutex;
use utoipa::{IntoParams, OpenApi};
use ziggurat_audit::Verdict;
use ziggurat_databases::{Current, MetadataError};
use ziggurat_postgres::statement::MaskedColumns;
use ziggurat_runtime::lock;

use self::{
    catalogue::Catalogue,
    described::{CatalogueDescription, ColumnDescription, SchemaDescription, TableDescription},
    storage::Storage,
};
use crate::{QueryApi, request::QueryCaller, stop::Stop};

/// Minimum time between two loads that callers ask for.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(
    paths(show),
    components(schemas(
        SchemaDescription<'static>,
        TableDescription<'static>,
        ColumnDescription<'static>,
    ))
)]
pub struct Description;

/// The latest catalogue of each database, by its name and the masks that hold for its callers. Clones
/// share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogues(Arc<Mutex<HashMap<CatalogueKey, Latest>>>);

/// The name of a database, and for each rule of its masks if it holds.
type CatalogueKey = (String, Vec<bool>);

/// The latest catalogue of a database. Locked while it is made, so that callers who ask for it at the
/// same time wait for one load.
type Latest = Arc<AsyncMutex<Option<Arc<Catalogue>>>>;

/// A database to describe.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SchemaQuery {
    /// Name of the database; without, the selected one.
    database: Option<String>,
    /// `true` to read the tables again, at most once in five seconds.
    #[param(pattern = "^(true|false)$")]
    refresh: Option<String>,
}

/// Describes the tables of a database
///
/// Partitions are left out. `rows` and `bytes` are estimates of the planner. `cut` is true if there
/// are more tables than are shown. The response is streamed.
#[utoipa::path(get, path = "/api/schema", tag = "Query", operation_id = "show_schema",
    params(
        SchemaQuery,
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of an earlier response"),
    ),
    responses(
        (status = 200, description = "The tables, by schema; the header `ETag` names this content",
            body = CatalogueDescription<'static>),
        (status = 304, description = "The content is that of `If-None-Match`"),
        (status = 400, description = "`bad_request`: the query is not valid"),
        (status = 403, description = "`denied`: no database is available to this caller; \
            `not_available`: tables are not"),
        (status = 404, description = "`not_found`: the caller has no such database"),
        (status = 503, description = "`unreachable`: the database cannot be reached"),
    ),
)]
pub(crate) async fn show(
    State(api): State<QueryApi>,
    caller: QueryCaller,
    headers: HeaderMap,
    query: Result<Query<SchemaQuery>, QueryRejection>,
) -> Result<Response, Stop> {
    let Query(query) = query.map_err(|_| Stop::bad_request("The query cannot be read"))?;
    if !caller.rights.has_schema {
        let message = "Tables are not available to you: get_schema_info is switched off";
        return Err(Stop::new(StatusCode::FORBIDDEN, "not_available", message));
    }
    let current = caller.database(query.database.as_deref()).await?;
    caller.call.set_database(current.database());
    // Before anything is sent to the database.
    caller.call.open().await?;
    let is_refreshed = query.refresh.as_deref() == Some("true");
    let catalogue = api.catalogues.of(&current, is_refreshed).await?;
    caller.call.note(Verdict::Ok);
    let etag = catalogue.etag();
    if is_known(&headers, etag) {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, etag.clone())]).into_response());
    }
    let json = HeaderValue::from_static("application/json");
    let pieces = stream::unfold((catalogue.clone(), Some(0)), |(catalogue, at)| async move {
        let (piece, next) = catalogue.piece(at?);
        Some((Ok::<Bytes, Infallible>(piece), (catalogue, next)))
    });
    let headers = [(CONTENT_TYPE, json), (ETAG, etag.clone())];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

// === impl Catalogues ===

impl Catalogues {
    /// Returns the catalogue of a database, as old as its operator allows, or read again if that was
    /// not done in the last seconds.
    async fn of(&self, current: &Current, is_refreshed: bool) -> Result<Arc<Catalogue>, Stop> {
        let metadata = if is_refreshed {
            current.metadata_within(REFRESH_INTERVAL).await?
        } else {
            current.metadata().await?
        };
        let name = current.label();
        let masks = current.database().masks();
        let masks = masks.map_or_else(Vec::new, |it| it.holds().to_vec());
        let latest = Arc::clone(lock(&self.0).entry((name.to_owned(), masks)).or_default());
        let mut latest = latest.lock().await;
        // Another caller may have read the tables again during the wait.
        let metadata = current.cached_metadata().unwrap_or(metadata);
        if let Some(known) = latest.as_ref().filter(|known| known.is_of(&metadata)) {
            return Ok(Arc::clone(known));
        }
        let masked = MaskedColumns::marks(current.pool()).await;
        let lease = current.pool().lease().await?;
        let storage = Storage::load(lease).await;
        let mut storage = storage.map_err(|error| MetadataError::Load(Arc::new(error)))?;
        storage.hide(&metadata, &masked);
        let age = current.metadata_age(&metadata).unwrap_or_default();
        let catalogue = Catalogue::new(name, metadata, (storage, masked), age).await;
        let catalogue = Arc::new(catalogue);
        *latest = Some(Arc::clone(&catalogue));
        Ok(catalogue)
    }
}

/// Returns whether a client has this content.
fn is_known(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let weak = |etag: &str| etag.trim().trim_start_matches("W/").to_owned();
    let etag = weak(etag.to_str().unwrap_or_default());
    let known = headers.get_all(IF_NONE_MATCH).into_iter();
    let mut known = known.filter_map(|known| known.to_str().ok());
    known.any(|known| {
        let mut tags = known.split(',').map(weak);
        tags.any(|tag| tag == "*" || tag == etag)
    })
}
