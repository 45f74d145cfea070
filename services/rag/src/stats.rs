//! `/v1/stats`: what the pipelines have cost.

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_llm::{Embedder, Provider, Usage};

use super::pipelines::Pipelines;

/// Whether what vectors cost is shown for every provider, and not only for Voyage, as the
/// specification has it. It is counted for all of them.
const SHOWS_ALL_EMBEDDINGS: bool = false;

/// What the pipelines have cost.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StatsResponse)]
pub(super) struct Stats {
    /// All pipelines, in the order of the configuration.
    pipelines: Vec<PipelineUsage>,
}

/// What a pipeline has cost.
#[derive(Debug, Serialize, ToSchema)]
struct PipelineUsage {
    /// What it is called in paths.
    name: String,
    /// What it is, for people; empty if nobody has said.
    #[schema(required = false)]
    description: String,
    /// Vectors of questions; only Voyage counts here.
    #[schema(value_type = TokenUsage)]
    embedding: Usage,
    /// Answers.
    #[schema(value_type = TokenUsage)]
    completion: Usage,
}

/// Tokens a provider has counted since its client was made. They only grow.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    clippy::struct_field_names,
    reason = "it describes a type that knows nothing of OpenAPI"
)]
struct TokenUsage {
    /// Those it has read.
    prompt_tokens: u64,
    /// Those it has written.
    completion_tokens: u64,
    /// All, as it reports them.
    total_tokens: u64,
    /// Those it has kept to read again; left out while there are none.
    #[schema(required = false)]
    cache_creation_input_tokens: u64,
    /// Those it had kept; left out while there are none.
    #[schema(required = false)]
    cache_read_input_tokens: u64,
}

/// What the pipelines have cost
///
/// Tokens as the providers count them, since their clients were made.
#[utoipa::path(get, path = "/stats", tag = "System", operation_id = "getStats",
    responses((status = 200, description = "In the order of the configuration", body = Stats)),
)]
pub(super) fn stats(pipelines: &Pipelines) -> Stats {
    let served = pipelines.now();
    let entries = served.iter().map(|pipeline| PipelineUsage {
        name: pipeline.name().to_owned(),
        description: pipeline.description().to_owned(),
        embedding: shown(pipeline.embedder()),
        completion: pipeline.completer().usage(),
    });
    Stats {
        pipelines: entries.collect(),
    }
}

fn shown(embedder: &Embedder) -> Usage {
    if SHOWS_ALL_EMBEDDINGS || embedder.provider() == Provider::Voyage.name() {
        embedder.usage()
    } else {
        Usage::default()
    }
}
