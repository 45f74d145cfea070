//! The source of embedding vectors.

use std::sync::Arc;

use thiserror::Error;
use ziggurat_knowledge::Embed;
use ziggurat_llm as llm;
use ziggurat_mcp::Visibility;
use ziggurat_telemetry::traces::Trace;

/// Computes vectors of texts, if configured.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Embedder {
    /// The operator has not enabled embeddings.
    Disabled,
    /// The operator has enabled a provider that cannot be used, for this reason. Callers read it.
    Unusable(Arc<str>),
    /// A provider, or the local embedder of the server.
    Ready(llm::Embedder),
}

/// The failure to get a vector. The messages are for the caller.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EmbedError {
    #[error("embedding generation is not enabled in server configuration")]
    Disabled,
    #[error("{0}")]
    Unusable(Arc<str>),
    #[error("{0}")]
    Failed(#[from] llm::Error),
}

// === impl Embedder ===

impl Embedder {
    /// Makes an embedder that fails with this reason.
    #[must_use]
    pub fn unusable(reason: impl Into<Arc<str>>) -> Self {
        Self::Unusable(reason.into())
    }

    /// Returns which clients are told about a tool that needs the embedder: one that cannot work
    /// only takes room in the list of those that negotiate a revision.
    pub(super) fn visibility(&self) -> Visibility {
        match self {
            Self::Ready(_) => Visibility::Everywhere,
            Self::Disabled | Self::Unusable(_) => Visibility::NotNegotiated,
        }
    }

    /// Returns the embedder, if it can be used.
    pub(super) fn ready(&self) -> Result<&llm::Embedder, EmbedError> {
        match self {
            Self::Disabled => Err(EmbedError::Disabled),
            Self::Unusable(reason) => Err(EmbedError::Unusable(reason.clone())),
            Self::Ready(embedder) => Ok(embedder),
        }
    }
}

impl Embed for Embedder {
    type Error = EmbedError;

    async fn vector(&self, text: &str, trace: Trace) -> Result<Vec<f32>, EmbedError> {
        Ok(self.ready()?.vector(text, trace).await?)
    }
}
