//! Clients of model providers: completions, embeddings and reranking over HTTP.
//!
//! All providers share one [`client`]; an [`Http`] is one provider with its address, key, headers
//! and timeouts. [`Embedder`], [`Reranker`] and [`Completer`] use it. An [`Error`] has a text for
//! the log, which contains no key, and a [`Class`] for untrusted clients.
//!
//! Retries, deadlines and limits are the same for all of them: up to 1 MiB of a response is read, up
//! to 16 MiB of one with vectors, up to 64 KiB of an error response, and no wait exceeds the deadline
//! of its request. All responses that are being read share one budget of bytes.
//!
//! No provider is chosen automatically. [`Embedder::local`] needs none: it is for demos and tests,
//! and its name is visible in the results. A [`StaticModel`] makes vectors from files, without a
//! network.

mod completion;
mod conversation;
mod deadline;
mod embedding;
mod error;
pub mod headers;
mod http;
pub mod key;
mod local;
mod measured;
mod models;
mod ping;
mod provider;
mod rerank;
mod retry;
mod static_model;
mod usage;

/// Target of the log events about calls to providers: their results at the info level, attempts at
/// the debug level, and numbers of bytes at the trace level.
///
/// They never contain prompts or replies.
pub const LOG_TARGET: &str = "ziggurat::llm";

use self::{
    http::{Request, Streaming},
    measured::MeasuredCall,
};

pub use self::{
    completion::{Chunks, Completer},
    conversation::{Block, Cache, Chunk, MAX_TOKENS, Message, Prompt, Reply, Role, Stop, ToolSpec},
    deadline::{Deadline, Elapsed},
    embedding::{Embedder, Embedding},
    error::{Class, Error, Refusal},
    http::{Access, Http, InvalidAccess, Timeouts, client},
    local::DIMENSIONS as LOCAL_DIMENSIONS,
    models::Model,
    provider::{ModelSource, Provider},
    rerank::{Ranked, Reranker},
    retry::Retry,
    static_model::{InvalidModel, StaticModel, StaticModels},
    usage::{Meter, Usage},
};
