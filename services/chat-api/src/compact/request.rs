//! Parsing of requests.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;
use thiserror::Error;
use utoipa::ToSchema;
use ziggurat_http::{Malformed, Refusal, payload};

use crate::compact::{classify::KeepOptions, estimate::Counter, message::ChatMessage};

/// Maximum of a number: the largest integer that every JSON library can represent.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// Maximum length of the error for an invalid body, since it may quote the body.
const MAX_DETAIL: usize = 200;

const MAX_TOKENS: u64 = 100_000;
const RECENT_WINDOW: usize = 10;
const MIN_IMPORTANT: usize = 3;

/// A chat, and limits for its length.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChatToCompact)]
pub(super) struct CompactRequest<'a> {
    #[serde(borrow)]
    #[schema(value_type = Vec<ChatMessage<'_>>, min_items = 1)]
    messages: Option<Vec<&'a RawValue>>,
    /// Limit on tokens; 0 is the default.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64, default = 100_000)]
    max_tokens: Option<Number>,
    /// Number of last messages that stay; 0 is the default.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64, default = 10)]
    recent_window: Option<Number>,
    /// Keeps schema changes, corrections and similar messages.
    #[schema(default = true)]
    keep_anchors: Option<bool>,
    /// Without options: tool results and schemas stay, a summary is added, and three messages
    /// between the first and the last ones stay if they fit.
    #[serde(borrow)]
    #[schema(value_type = Option<Options>, inline)]
    options: Option<&'a RawValue>,
}

/// Options of a request. If the object is missing, other defaults apply.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = CompactionOptions)]
struct Options {
    /// Keeps tool calls and their results, even above the limit on tokens.
    preserve_tool_results: Option<bool>,
    /// Keeps messages about schemas.
    preserve_schema_info: Option<bool>,
    /// Adds a summary line for removed messages, even if more messages would fit.
    enable_summarization: Option<bool>,
    /// Number of messages to keep between the first and the last ones if they fit.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_important_messages: Option<Number>,
    /// `generic`, `openai`, `anthropic` or `ollama`; others count as `generic`.
    #[schema(example = "generic")]
    token_counter_type: Option<String>,
    /// Adds actions, entities and counts to the summary line. No model is called.
    enable_llm_summarization: Option<bool>,
    /// Allows a cached answer.
    enable_caching: Option<bool>,
    /// Counts the chat in the statistics in the log of the server.
    enable_analytics: Option<bool>,
}

/// A non-negative integer.
#[derive(Clone, Copy, Debug)]
struct Number(u64);

/// Rules for shortening a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) max_tokens: u64,
    pub(super) recent_window: usize,
    pub(super) min_important: usize,
    pub(super) counter: Counter,
    pub(super) keep: KeepOptions,
    pub(super) wants_summary: bool,
    pub(super) is_enhanced: bool,
}

/// A valid request.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) messages: Vec<&'a RawValue>,
    pub(super) rules: Rules,
    /// Is true if the answer may come from the cache.
    pub(super) is_cached: bool,
    /// Is true if the chat counts in the statistics.
    pub(super) is_counted: bool,
}

/// Reason why a request is invalid. The message is for the client.
#[derive(Debug, Error)]
pub(super) enum Invalid {
    #[error("Messages array cannot be empty")]
    NoMessages,
    #[error("Invalid request body: {0}")]
    Body(String),
}

// === impl CompactRequest ===

impl<'a> CompactRequest<'a> {
    /// Validates the request and fills in the defaults.
    pub(super) fn checked(self) -> Result<Request<'a>, Invalid> {
        let messages = self.messages.unwrap_or_default();
        if messages.is_empty() {
            return Err(Invalid::NoMessages);
        }
        let options = match self.options {
            Some(options) => payload::object(options.get())?,
            None => Options::left_out(),
        };
        let rules = Rules {
            max_tokens: at_least_one(self.max_tokens).unwrap_or(MAX_TOKENS),
            recent_window: at_least_one(self.recent_window).map_or(RECENT_WINDOW, size),
            min_important: options
                .min_important_messages
                .map_or(0, |number| size(number.0)),
            counter: Counter::named(options.token_counter_type.as_deref().unwrap_or_default()),
            keep: KeepOptions {
                anchors: self.keep_anchors.unwrap_or(true),
                tool_results: options.preserve_tool_results.unwrap_or(false),
                schema_info: options.preserve_schema_info.unwrap_or(false),
            },
            wants_summary: options.enable_summarization.unwrap_or(false),
            is_enhanced: options.enable_llm_summarization.unwrap_or(false),
        };
        Ok(Request {
            messages,
            rules,
            is_cached: options.enable_caching.unwrap_or(false),
            is_counted: options.enable_analytics.unwrap_or(false),
        })
    }
}

// === impl Options ===

impl Options {
    fn left_out() -> Self {
        Self {
            preserve_tool_results: Some(true),
            preserve_schema_info: Some(true),
            enable_summarization: Some(true),
            min_important_messages: Some(Number(MIN_IMPORTANT as u64)),
            ..Self::default()
        }
    }
}

// === impl Number ===

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        u64::try_from(number)
            .ok()
            .filter(|number| *number <= MAX_NUMBER)
            .map(Self)
            .ok_or_else(|| {
                let expected = format!("a number from 0 to {MAX_NUMBER}");
                de::Error::invalid_value(de::Unexpected::Signed(number), &&*expected)
            })
    }
}

/// Reads a number for which 0 means the default.
fn at_least_one(number: Option<Number>) -> Option<u64> {
    number.map(|number| number.0).filter(|number| *number > 0)
}

/// Converts to a size; a number that does not fit is as good as the maximum.
fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

// === impl Invalid ===

impl Invalid {
    /// Returns the error for an invalid message at this position.
    pub(super) fn message(at: usize, reason: &str) -> Self {
        Self::Body(format!("messages[{at}]: {reason}"))
    }
}

impl From<Malformed> for Invalid {
    fn from(error: Malformed) -> Self {
        let mut detail = error.to_string();
        if detail.len() > MAX_DETAIL {
            detail.truncate(detail.floor_char_boundary(MAX_DETAIL));
            detail.push_str("...");
        }
        Self::Body(detail)
    }
}

impl From<Invalid> for Refusal {
    fn from(error: Invalid) -> Self {
        Self::invalid(error.to_string())
    }
}
