//! Public documents for servers that trust this one: keys and revoked clients.

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    Store, Tokens,
    reply::{Refused, no_method},
};

/// Path of the public keys.
pub(crate) const JWKS: &str = "/.well-known/jwks.json";

/// Path of the list of revoked clients with tokens that have not expired.
pub const REVOCATIONS: &str = "/.well-known/revoked-clients.json";

/// Path of the issuer's metadata (RFC 8414).
pub const METADATA: &str = "/.well-known/oauth-authorization-server";

#[derive(Clone, Debug)]
struct DocumentState {
    store: Store,
    tokens: Tokens,
}

/// Routes of the public documents.
pub(super) fn routes(store: Store, tokens: Tokens) -> Router {
    let not_here = async || no_method();
    Router::new()
        .route(JWKS, get(keys).fallback(not_here))
        .route(REVOCATIONS, get(revocations).fallback(not_here))
        .route(METADATA, get(metadata).fallback(not_here))
        .with_state(DocumentState { store, tokens })
}

async fn keys(State(trust): State<DocumentState>, headers: HeaderMap) -> Response {
    document(&headers, &trust.tokens.keys().document())
}

/// Lists the revoked clients until their last tokens expire.
async fn revocations(
    State(trust): State<DocumentState>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let revoked = trust.store.revocations().await?;
    let revoked = revoked.iter().map(|gone| {
        let (client, until) = (gone.client.to_string(), gone.ends.seconds());
        json!({"client": client, "until": until})
    });
    let mut value = json!({
        "issuer": trust.tokens.issuer(),
        "revoked": revoked.collect::<Vec<_>>(),
    });
    if let Some(grants) = trust.tokens.revoked_grants() {
        let grants = grants.into_iter();
        let grants = grants.map(|(grant, until)| json!({"grant": grant, "until": until}));
        value["revoked_grants"] = grants.collect();
    }
    Ok(document(&headers, &value))
}

async fn metadata(State(trust): State<DocumentState>) -> Json<Value> {
    let issuer = trust.tokens.issuer();
    let base = issuer.trim_end_matches('/');
    let scopes = trust.tokens.scope().unwrap_or_default();
    Json(json!({
        "issuer": issuer,
        "token_endpoint": format!("{base}/account/v1/oauth/token"),
        "jwks_uri": format!("{base}{JWKS}"),
        "revoked_clients_uri": format!("{base}{REVOCATIONS}"),
        "grant_types_supported": ["client_credentials"],
        "response_types_supported": [],
        "scopes_supported": scopes.split_whitespace().collect::<Vec<_>>(),
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
    }))
}

/// Answers with a document, or 304 if the caller already has this version.
fn document(headers: &HeaderMap, value: &Value) -> Response {
    let text = value.to_string();
    let tag = format!("\"{}\"", BASE64_STANDARD.encode(Sha256::digest(&text)));
    let known = headers.get_all(header::IF_NONE_MATCH).iter();
    let known = known.filter_map(|value| value.to_str().ok());
    let is_known = known.flat_map(|list| list.split(',')).any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    });
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let json = [(header::CONTENT_TYPE, "application/json")];
        (json, text).into_response()
    };
    let tag = HeaderValue::try_from(tag).expect("printable characters");
    let headers = response.headers_mut();
    headers.insert(header::ETAG, tag);
    // Caches may store it, but have to revalidate it.
    let no_cache = HeaderValue::from_static("no-cache");
    headers.insert(header::CACHE_CONTROL, no_cache);
    response
}
