//! `/v1/stats`: the tokens that the pipelines have used.

use axum::{extract::State, response::Response};
use http::Extensions;
use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_calls::Caller;
use ziggurat_llm::{Embedder, Provider, Usage};

use crate::{
    pipelines::Pipelines,
    reply::{ErrorResponse, json},
};

/// Shows the tokens of embeddings for all providers if set. The specification shows them only
/// for Voyage; they are counted for all.
const SHOWS_ALL_EMBEDDINGS: bool = false;

/// Token usage of the pipelines.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StatsResponse)]
struct Stats {
    /// The pipelines of the caller, in the order of the configuration.
    pipelines: Vec<PipelineUsage>,
}

/// Token usage of one pipeline.
#[derive(Debug, Serialize, ToSchema)]
struct PipelineUsage {
    /// The name of the pipeline, as used in paths.
    name: String,
    /// A description for users; empty if there is none.
    #[schema(required = false)]
    description: String,
    /// Embeddings of questions; counted only for Voyage.
    #[schema(value_type = TokenUsage)]
    embedding: Usage,
    /// Answers.
    #[schema(value_type = TokenUsage)]
    completion: Usage,
}

/// Tokens that a provider has counted since its client was created. They never decrease.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    clippy::struct_field_names,
    reason = "it describes a type that knows nothing of OpenAPI"
)]
struct TokenUsage {
    /// Tokens that the provider has read.
    prompt_tokens: u64,
    /// Tokens that the provider has written.
    completion_tokens: u64,
    /// All tokens, as reported by the provider.
    total_tokens: u64,
    /// Tokens written to the provider's cache; absent if zero.
    #[schema(required = false)]
    cache_creation_input_tokens: u64,
    /// Tokens read from the provider's cache; absent if zero.
    #[schema(required = false)]
    cache_read_input_tokens: u64,
}

/// Reports the token usage of the pipelines
///
/// Tokens are counted by the providers, since their clients were created.
#[utoipa::path(get, path = "/stats", tag = "System", operation_id = "getStats",
    responses(
        (status = 200, description = "The statistics of the pipelines of the caller, in the order \
            of the configuration", body = Stats),
        (status = 401, description = "The server wants a bearer token", body = ErrorResponse),
    ),
)]
pub(crate) async fn stats(State(pipelines): State<Pipelines>, extensions: Extensions) -> Response {
    let seen = pipelines.seen_by(&Caller::of(&extensions));
    let entries = seen.iter().map(|pipeline| PipelineUsage {
        name: pipeline.name().to_owned(),
        description: pipeline.description().to_owned(),
        embedding: shown(pipeline.embedder()),
        completion: pipeline.completer().usage(),
    });
    json(&Stats {
        pipelines: entries.collect(),
    })
}

fn shown(embedder: &Embedder) -> Usage {
    if SHOWS_ALL_EMBEDDINGS || embedder.provider() == Provider::Voyage.name() {
        embedder.usage()
    } else {
        Usage::default()
    }
}
