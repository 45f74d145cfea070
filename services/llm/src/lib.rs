//! Providers of models: who they are, how they are reached, and what may go wrong.
//!
//! All of them are reached through one [`client`]; an [`Http`] is one provider with its
//! address, key, headers and patience. [`Embedder`], [`Reranker`] and the completions stand on
//! it. An [`Error`] has a text for the log, in which no key is, and a [`Class`] for strangers.
//!
//! Retries, deadlines and limits are the same for all of them: an answer is read up to 32 MiB,
//! a refusal up to 64 KiB, and no wait outlives the deadline of the request it is for.
//!
//! Nothing here chooses a provider. [`Embedder::local`] needs none: it is for trying things
//! out, and says so wherever it shows.

mod completion;
mod conversation;
mod deadline;
mod embedding;
mod error;
pub mod headers;
mod http;
pub mod key;
mod local;
mod models;
mod ping;
mod provider;
mod rerank;
mod retry;
pub mod sse;
mod usage;

/// The target of events about calls of providers: what came of each at the info level, its
/// attempts at the debug level, and how much was sent and read at the trace level.
///
/// They say nothing of what was written.
pub const LOG_TARGET: &str = "ziggurat::llm";

pub use self::{
    completion::{Chunks, Completer},
    conversation::{Block, Cache, Chunk, MAX_TOKENS, Message, Prompt, Reply, Role, Stop, ToolSpec},
    deadline::{Deadline, Passed},
    embedding::{Embedder, Embedding},
    error::{Class, Error, Refusal},
    http::{Access, Http, InvalidAccess, Request, Streaming, Timeouts, client},
    local::DIMENSIONS as LOCAL_DIMENSIONS,
    models::Model,
    provider::Provider,
    rerank::{Ranked, Reranker},
    retry::Retry,
    usage::{Meter, Usage},
};
