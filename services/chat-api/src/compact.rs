//! `/api/chat/compact`: shortens a chat to fit the context of a model.
//!
//! The first message and the last ones stay. Of those between, the important ones stay, and a
//! summary line replaces the others. No model is called.
//!
//! Messages are returned byte for byte, so unknown members are kept.

mod analytics;
mod cache;
mod chat;
mod classify;
mod estimate;
mod message;
mod phrases;
mod plan;
mod request;
mod summary;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use http::{HeaderValue, header};
use tokio::{sync::Semaphore, task};
use utoipa::OpenApi;
use ziggurat_http::{Payload, Refusal};
use ziggurat_layers::sanitize::ErrorDetail;

use self::{
    analytics::Analytics,
    cache::{Cache, Key},
    chat::{Chat, CompactedChat},
    request::{CompactRequest, Invalid},
};

/// Minimum size of a chat, in bytes, that is processed on a blocking thread.
const LARGE: usize = 256 << 10;

/// Limit on such chats at a time.
const LARGE_AT_A_TIME: usize = 2;

/// State shared by all requests.
#[derive(Clone, Debug)]
struct Compactor {
    cache: Arc<Cache>,
    analytics: Arc<Analytics>,
    large_chats: Arc<Semaphore>,
}

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(compact))]
pub struct Description;

/// Returns the routes of this area.
pub fn routes() -> Router {
    let compactor = Compactor {
        cache: Arc::default(),
        analytics: Arc::default(),
        large_chats: Arc::new(Semaphore::new(LARGE_AT_A_TIME)),
    };
    Router::new()
        .route("/api/chat/compact", post(compact))
        .with_state(compactor)
}

/// Shortens a chat to fit the context of a model
///
/// The first message and the last ones stay. Of those between, the important ones stay; a summary
/// line replaces the others. No model is called.
#[utoipa::path(post, path = "/api/chat/compact", tag = "Chat", operation_id = "compact_chat",
    request_body = CompactRequest<'_>,
    responses(
        (status = 200, description = "The chat, shortened if it exceeded the \
            limit", body = CompactedChat<'_>),
        (status = 400, description = "`messages` is missing, or a field has the wrong type"),
    ),
)]
async fn compact(
    State(compactor): State<Compactor>,
    payload: Payload,
) -> Result<Response, Refusal> {
    let body = if payload.size() < LARGE {
        compactor.compact(&payload)?
    } else {
        compactor.compact_blocking(payload).await?
    };
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], body).into_response())
}

// === impl Compactor ===

impl Compactor {
    async fn compact_blocking(self, payload: Payload) -> Result<Bytes, Refusal> {
        let permit = Arc::clone(&self.large_chats).acquire_owned().await;
        let work = move || {
            let compacted = self.compact(&payload);
            // The permit is held until the work ends, even if the client has disconnected.
            drop(permit);
            compacted
        };
        match task::spawn_blocking(work).await {
            Ok(compacted) => Ok(compacted?),
            Err(error) => Err(Refusal::fault(
                "Internal server error",
                ErrorDetail::new(error),
            )),
        }
    }

    fn compact(&self, payload: &Payload) -> Result<Bytes, Invalid> {
        let asked: CompactRequest<'_> = payload.object()?;
        let request = asked.checked()?;
        let (messages, rules) = (&request.messages, &request.rules);
        let key = request.is_cached.then(|| Key::of(messages, rules));
        if let Some(cached) = key.and_then(|key| self.cache.get(&key)) {
            if request.is_counted {
                self.analytics.repeated();
            }
            return Ok(cached);
        }
        let compacted = Chat::read(messages, rules)?.compact(rules)?;
        if let Some(key) = key {
            self.cache.put(key, &compacted.body);
        }
        if request.is_counted {
            self.analytics.compacted(&compacted.info);
        }
        Ok(compacted.body)
    }
}
