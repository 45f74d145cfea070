//! Responses to clients.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use ziggurat_llm::{Block, Reply, Stop, Usage};

/// Answer of a model.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AnswerOfModel)]
pub(super) struct Answer {
    /// Texts and tool calls of the model, in order.
    content: Vec<Piece>,
    /// Reason why the model stopped.
    stop_reason: String,
    /// Token usage, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    token_usage: Option<TokenUsage>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = PieceOfAnswer)]
enum Piece {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[schema(value_type = serde_json::Value)]
        input: Box<RawValue>,
    },
}

/// Numbers of tokens, as counted by the provider.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TokenUsage {
    provider: &'static str,
    #[serde(flatten)]
    counts: Option<Counts>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TokenCounts)]
struct Counts {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    cache_creation_tokens: u64,
    cache_read_tokens: u64,
    /// Percentage of the prompt that was read from the cache.
    cache_savings_percentage: f64,
}

// === impl Answer ===

impl Answer {
    pub(super) fn new(reply: Reply, provider: &'static str, has_usage: bool) -> Self {
        Self {
            stop_reason: stop_reason(provider, &reply.stop),
            content: reply.blocks.into_iter().filter_map(Piece::of).collect(),
            token_usage: has_usage.then(|| TokenUsage::of(provider, reply.usage)),
        }
    }
}

/// Returns the reason why a model stopped, in the words of clients.
pub(super) fn stop_reason(provider: &str, stop: &Stop) -> String {
    let stop = match (provider, stop) {
        // Only Anthropic's own reasons are passed on.
        ("anthropic", stop) => stop,
        (_, Stop::ToolUse) => &Stop::ToolUse,
        _ => &Stop::EndTurn,
    };
    stop.as_str().to_owned()
}

// === impl TokenUsage ===

impl TokenUsage {
    pub(super) fn of(provider: &'static str, usage: Usage) -> Self {
        let is_counted = !matches!(provider, "ollama" | "local");
        Self {
            provider,
            counts: is_counted.then(|| Counts::of(usage)),
        }
    }
}

// === impl Piece ===

impl Piece {
    fn of(block: Block) -> Option<Self> {
        match block {
            Block::Text { text, .. } => Some(Self::Text { text }),
            Block::ToolUse {
                id, name, input, ..
            } => Some(Self::ToolUse { id, name, input }),
            Block::ToolResult { .. } => None,
        }
    }
}

// === impl Counts ===

impl Counts {
    fn of(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            total_tokens: usage.total_tokens,
            cache_creation_tokens: usage.cache_creation_input_tokens,
            cache_read_tokens: usage.cache_read_input_tokens,
            cache_savings_percentage: savings(usage),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a percentage of fewer tokens than a model can read"
)]
fn savings(usage: Usage) -> f64 {
    let read = usage.cache_read_input_tokens;
    match usage.prompt_tokens.saturating_add(read) {
        0 => 0.0,
        all => read as f64 / all as f64 * 100.0,
    }
}
