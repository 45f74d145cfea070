//! The answer of a model as server-sent events.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use std::time::Duration;

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use futures_util::{Stream, StreamExt as _, stream};
use http::Version;
use serde::Serialize;
use serde_json::value::RawValue;
use tracing::warn;
use utoipa::ToSchema;
use ziggurat_http::{Payload, Refusal};
use ziggurat_llm::{Block, Chunk, Chunks, Class, Completer, Deadline, Error};
use ziggurat_serve::sse::{Event, EventStream};

use crate::{
    caller::RequestTrace,
    llm::{
        Proxy, TIME,
        ask::ChatRequest,
        described, fault,
        reply::{TokenUsage, stop_reason},
    },
};

/// Silence after which a comment is sent, so that no proxy closes the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An event of a stream. The last one is `done` or `error`, and nothing follows it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = ChatEvent)]
pub(super) enum ChatEvent<'a> {
    /// A part of the text.
    Text {
        /// The text; never empty.
        text: &'a str,
    },
    /// The model begins to call a tool. Its arguments follow in `tool_use`, unless the answer breaks
    /// off or reaches its maximum length before they are complete.
    ToolUseStarted {
        /// Id of the call.
        id: &'a str,
        /// Name of the tool.
        name: &'a str,
    },
    /// The model calls a tool.
    ToolUse {
        /// Id that the result of the tool refers to.
        id: &'a str,
        /// Name of the tool.
        name: &'a str,
        /// The arguments.
        #[schema(value_type = serde_json::Value)]
        input: &'a RawValue,
    },
    /// The answer is complete.
    Done {
        /// Reason why the model stopped.
        stop_reason: String,
        /// Token usage, if it was requested.
        token_usage: Option<TokenUsage>,
    },
    /// The provider failed.
    Error {
        /// The error, in the words of the provider.
        error: String,
        /// The reason, for programs: `rate_limited`, `unreachable`, `timeout`, `credentials`,
        /// `invalid` or `provider`.
        code: &'static str,
    },
}

/// An answer in progress.
struct Answering {
    completer: Completer,
    chunks: Chunks,
    has_usage: bool,
    is_over: bool,
}

/// Calls a model, and streams its answer
///
/// The data of each event is a JSON object with a `type`. A response without `done` or `error` at its
/// end broke off. A client that hangs up ends the request to the provider.
#[utoipa::path(post, path = "/api/llm/chat/stream", tag = "LLM", operation_id = "stream_chat",
    request_body = ChatRequest<'_>,
    responses(
        (status = 200, description = "The answer of the model, as it comes",
            content_type = "text/event-stream", body = ChatEvent<'static>),
        (status = 400, description = "The body is invalid, or the provider is not configured"),
        (status = 404, description = "The model proxy is disabled"),
    ),
)]
pub(super) async fn chat(
    State(proxy): State<Proxy>,
    RequestTrace(trace): RequestTrace,
    version: Version,
    payload: Payload,
) -> Result<Response, Refusal> {
    let ask: ChatRequest<'_> = payload.object()?;
    let has_usage = ask.debug();
    let (completer, prompt) = proxy.prepare(ask, trace)?;
    let chunks = completer.stream_by(&prompt, Deadline::after(TIME)).await;
    let chunks = chunks.map_err(|error| fault("LLM error", &completer, &error))?;
    let events = events(Answering {
        completer,
        chunks,
        has_usage,
        is_over: false,
    });
    let body = EventStream::new(events).with_keep_alive(Some(KEEP_ALIVE));
    Ok(body.into_response(version).map(Body::new).into_response())
}

fn events(answering: Answering) -> impl Stream<Item = Event> + Send {
    let events = stream::unfold(answering, |mut answering| async move {
        if answering.is_over {
            return None;
        }
        let events = answering.next().await;
        Some((stream::iter(events), answering))
    });
    events.flatten()
}

// === impl Answering ===

impl Answering {
    /// Returns the next events, framed.
    async fn next(&mut self) -> Vec<Event> {
        match self.chunks.next().await {
            Some(Ok(Chunk::Text(text))) => framed(&[ChatEvent::Text { text: &text }]),
            Some(Ok(Chunk::ToolUseStarted { id, name })) => {
                let (id, name) = (&id, &name);
                framed(&[ChatEvent::ToolUseStarted { id, name }])
            }
            Some(Ok(Chunk::ToolUse(block))) => called(&block),
            Some(Ok(Chunk::End { stop, usage })) => {
                self.is_over = true;
                let provider = self.completer.provider();
                framed(&[ChatEvent::Done {
                    stop_reason: stop_reason(provider, &stop),
                    token_usage: self.has_usage.then(|| TokenUsage::of(provider, usage)),
                }])
            }
            Some(Err(error)) => {
                self.is_over = true;
                framed(&[self.failed(&error)])
            }
            None => {
                self.is_over = true;
                framed(&[ChatEvent::Error {
                    error: "LLM error: the answer is incomplete".to_owned(),
                    code: "provider",
                }])
            }
        }
    }

    fn failed(&self, error: &Error) -> ChatEvent<'static> {
        let cause: &dyn std::error::Error = error;
        let provider = self.completer.provider();
        warn!(error = cause, provider, "an answer broke off");
        ChatEvent::Error {
            error: described("LLM error", &self.completer, error),
            code: match error.class() {
                Class::RateLimit => "rate_limited",
                Class::Unreachable => "unreachable",
                Class::Timeout => "timeout",
                Class::Credentials => "credentials",
                Class::Invalid | Class::Unsupported => "invalid",
                _ => "provider",
            },
        }
    }
}

/// Returns the event of a complete call of a tool.
fn called(block: &Block) -> Vec<Event> {
    match block {
        Block::ToolUse {
            id, name, input, ..
        } => framed(&[ChatEvent::ToolUse { id, name, input }]),
        Block::Text { .. } | Block::ToolResult { .. } => Vec::new(),
    }
}

fn framed(events: &[ChatEvent<'_>]) -> Vec<Event> {
    let events = events.iter().map(Event::json);
    events
        .collect::<Result<_, _>>()
        .expect("texts and numbers are JSON")
}
