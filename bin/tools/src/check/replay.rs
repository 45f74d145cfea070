//! Runs the request of a receipt again.

use std::{collections::HashMap, sync::Arc};

use anyhow::{Context as _, bail};
use axum::body::{Body, to_bytes};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderValue, Method, Request, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{runtime, task::JoinSet, time};
use tower::{ServiceBuilder, ServiceExt as _};
use ziggurat_calls::Caller;
use ziggurat_databases::{Databases, SelectError};
use ziggurat_layers::json_rpc::{self, JsonRpcLayer};
use ziggurat_mcp::{
    StateSigner,
    protocol::{self, ProtocolLayer},
};
use ziggurat_postgres::{pool::Pools, statement::Statement};
use ziggurat_query_api::{QueryApi, QueryLimits};
use ziggurat_receipts::{Judged, Kept, Keys, Payload, SigningKey};
use ziggurat_tokens::Identity;

use crate::{
    app::{self, query_limits},
    arguments::CallerName,
    catalogue::current::Catalogue,
    check::{self, CLOSE_TIMEOUT, identity},
    configuration::Configuration,
    observation::receipts,
};

/// Number of changed rows that are shown.
const MAX_SHOWN: usize = 20;

/// Bytes of the digest of a row in a receipt.
const DIGEST_BYTES: usize = 8;

/// Tool of receipts of `/api/query`.
const QUERY: &str = "POST /api/query";

/// Sentence about a caller who may not see the rows any more.
const OTHER_RIGHTS: &str = "the caller has other rights now";

/// Sentence about a statement that does not only read.
const CHANGE: &str = "a change is not repeated";

/// Outcome of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The rows are the same.
    Same,
    /// There are other rows.
    Other,
    /// It could not be compared.
    Failed,
}

/// Runs the request of an answer again, read only, and returns lines about the rows.
///
/// # Errors
/// Fails if the request cannot be run.
pub(super) fn run(
    configuration: &Configuration,
    caller: Option<&CallerName>,
    then: &Judged,
) -> anyhow::Result<(Vec<String>, Outcome)> {
    let request = then.request.as_ref();
    let request = request.context("the request was not kept with the answer")?;
    if then.payload.xid.is_some() || changes(configuration, then, request) {
        bail!(CHANGE);
    }
    let identity = identity(caller.unwrap_or(&CallerName::Local), &configuration.auth)?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let now = runtime.context("cannot start")?.block_on(answer(
        configuration,
        identity.as_ref(),
        then,
        request,
    ))?;
    let has_marks = configuration.secret_file.is_some();
    if !has_same_rights(&then.payload, &now.payload, has_marks) {
        bail!(OTHER_RIGHTS);
    }
    Ok(compare(then, &now))
}

/// Returns whether a caller had the same rights at both answers, as far as receipts tell. Without a
/// secret file the marks of roles and settings differ from process to process.
fn has_same_rights(then: &Payload, now: &Payload, has_marks: bool) -> bool {
    let (old, new) = (&then.identity, &now.identity);
    let is_same_role = if has_marks {
        old == new
    } else {
        old.is_some() == new.is_some()
    };
    is_same_role && then.masked == now.masked && then.database == now.database
}

/// Returns whether a statement does not only read.
fn changes(configuration: &Configuration, then: &Judged, request: &Value) -> bool {
    let arguments = request.pointer("/params/arguments");
    let text = match &*then.payload.tool {
        QUERY => request["sql"].as_str(),
        "query_database" => arguments.and_then(|it| it["query"].as_str()),
        _ => None,
    };
    let mut databases = configuration.databases.iter();
    let entry = databases.find(|entry| entry.database.name() == then.payload.database);
    let (Some(text), Some(entry)) = (text, entry) else {
        return false;
    };
    let statement = Statement::read_only(&entry.database, text);
    statement.is_ok_and(|statement| !statement.only_reads())
}

/// Returns the same configuration with databases that allow no writes.
fn read_only(configuration: &Configuration) -> Configuration {
    let mut reading = configuration.clone();
    for entry in &mut reading.databases {
        entry.database = Arc::new(entry.database.read_only());
    }
    reading
}

/// Runs a request as its caller would, read only, and returns the answer.
async fn answer(
    configuration: &Configuration,
    identity: Option<&Identity>,
    then: &Judged,
    request: &Value,
) -> anyhow::Result<Judged> {
    let (key, _) = SigningKey::generate()?;
    let keys = Keys::new(key, &[]);
    let (pools, reaper) = Pools::new();
    let (mut tasks, mut reaping) = (JoinSet::new(), JoinSet::new());
    reaping.spawn(reaper.run());
    let receipts = receipts::with_keys(configuration, keys.clone(), &mut tasks);
    let databases = Databases::new(pools.clone(), app::configured(&read_only(configuration)));
    let (catalogue, _) = check::build(configuration, databases, Some(receipts))?;
    if catalogue.sql_tools.writes(&then.payload.tool) {
        bail!(CHANGE);
    }
    let selected = catalogue.databases.select(identity, &then.payload.database);
    if let Err(SelectError::Denied | SelectError::Bound) = selected.await {
        bail!(OTHER_RIGHTS);
    }
    let text = if then.payload.tool == QUERY {
        query(&catalogue, identity, query_limits(configuration), request).await
    } else {
        call(&catalogue, identity, request).await
    };
    drop(catalogue);
    pools.close_all();
    drop(pools);
    time::timeout(CLOSE_TIMEOUT, reaping.join_next()).await.ok();
    let judged = Kept::read(&text).judge(&keys.public());
    judged.map_err(|_| refusal(&text))
}

/// Describes an answer without a receipt: the request was refused or failed.
fn refusal(text: &str) -> anyhow::Error {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    let answer: Value = serde_json::from_str(last).unwrap_or_default();
    let places = ["/result/content/0/text", "/error/message", "/error"];
    let mut messages = places
        .iter()
        .filter_map(|place| answer.pointer(place)?.as_str());
    // A tool that the caller does not see is answered as one that does not exist.
    if answer["error"]["code"] == json_rpc::Error::INVALID_PARAMS {
        return anyhow::anyhow!(OTHER_RIGHTS);
    }
    match (answer["code"].as_str(), messages.next()) {
        (Some("denied" | "not_available" | "not_found"), _) => anyhow::anyhow!(OTHER_RIGHTS),
        (_, Some(message)) => anyhow::anyhow!("the request failed: {message}"),
        _ => anyhow::anyhow!("the request failed"),
    }
}

/// Sends a statement to `/api/query`.
async fn query(
    catalogue: &Catalogue,
    identity: Option<&Identity>,
    limits: QueryLimits,
    request: &Value,
) -> String {
    let mut body = request.clone();
    body["receipt"] = json!("rows");
    let mut request = posted(&body, identity);
    *request.uri_mut() = http::Uri::from_static("/api/query");
    let rights = catalogue.access.query_rights(&Caller::new(identity).id());
    request.extensions_mut().insert(rights);
    let api = QueryApi::new(catalogue.databases.clone(), StateSigner::random(), limits)
        .with_receipts(catalogue.calls.receipts.clone());
    let Ok(response) = ziggurat_query_api::routes(api).oneshot(request).await;
    text(response.into_body()).await
}

/// Calls a tool.
async fn call(catalogue: &Catalogue, identity: Option<&Identity>, request: &Value) -> String {
    let params = request.get("params").unwrap_or(request);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": params["name"],
        "arguments": params.get("arguments").cloned().unwrap_or_else(|| json!({})),
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "ziggurat/receipt": "rows",
            "ziggurat/structured": true,
        },
    }});
    let service = ServiceBuilder::new()
        .layer(JsonRpcLayer::new().with_dialect_of(protocol::dialect_of))
        .layer(ProtocolLayer::stdio())
        .service(catalogue.mcp.clone());
    let Ok(response) = service.oneshot(posted(&call, identity)).await;
    text(Body::new(response.into_body())).await
}

fn posted(body: &Value, identity: Option<&Identity>) -> Request<Body> {
    let mut request = Request::new(Body::from(body.to_string()));
    *request.method_mut() = Method::POST;
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(CONTENT_TYPE, json);
    if let Some(identity) = identity {
        request.extensions_mut().insert(identity.clone());
    }
    request
}

async fn text(body: Body) -> String {
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    String::from_utf8_lossy(&body).into_owned()
}

/// Compares the rows of two answers to one request.
fn compare(then: &Judged, now: &Judged) -> (Vec<String>, Outcome) {
    let (old, new) = (&then.payload, &now.payload);
    if (&old.rows.sha256, old.rows.truncated) == (&new.rows.sha256, new.rows.truncated) {
        let is_still = old.snapshot.is_some() && old.snapshot == new.snapshot;
        let still = if is_still {
            "; the database has not changed since"
        } else {
            ""
        };
        return (vec![format!("the same rows{still}")], Outcome::Same);
    }
    let counts = format!("{} rows then, {} now", old.rows.count, new.rows.count);
    let (Some(before), Some(after)) = (digests(then), digests(now)) else {
        return (vec![counts], Outcome::Other);
    };
    let (fresh, gone) = (missing(&after, &before), missing(&before, &after));
    let (added, removed) = (fresh.len(), gone.len());
    let mut lines = vec![format!("{counts}: {added} new, {removed} gone")];
    let shown = |sign, rows: &[Value], places: &[usize]| {
        let line = |place: &usize| match rows.get(*place) {
            Some(row) => format!("{sign} {row}"),
            None => format!("{sign} row {}", place + 1),
        };
        places.iter().map(line).collect::<Vec<_>>()
    };
    lines.extend(shown('+', &now.rows, &fresh));
    lines.extend(shown('-', &then.rows, &gone));
    lines.truncate(1 + MAX_SHOWN);
    (lines, Outcome::Other)
}

/// Returns the digests of the rows of an answer, if it has all of them.
fn digests(judged: &Judged) -> Option<Vec<[u8; DIGEST_BYTES]>> {
    let each = judged.payload.rows.each.as_ref()?;
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(each).ok()?;
    let digests = bytes.as_chunks().0;
    (digests.len() as u64 == judged.payload.rows.count).then(|| digests.to_vec())
}

/// Returns the places of the rows that others do not have, each as often as it is there.
fn missing(rows: &[[u8; DIGEST_BYTES]], others: &[[u8; DIGEST_BYTES]]) -> Vec<usize> {
    let mut left: HashMap<_, usize> = HashMap::new();
    for digest in others {
        *left.entry(digest).or_default() += 1;
    }
    let mut is_missing = |digest| match left.get_mut(digest) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let places = rows.iter().enumerate();
    places
        .filter_map(|(place, digest)| is_missing(digest).then_some(place))
        .collect()
}
