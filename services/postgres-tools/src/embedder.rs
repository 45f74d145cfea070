//! Where the vectors of texts come from.

use std::sync::Arc;

use thiserror::Error;
use ziggurat_llm as llm;

/// Makes vectors of texts, if somebody does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Embedder {
    /// Nobody: the operator has not enabled it.
    Disabled,
    /// Nobody: the operator has enabled a provider that cannot be used, for this reason. Callers
    /// read it.
    Unusable(Arc<str>),
    /// A provider, or the server itself.
    Ready(llm::Embedder),
}

/// Why there is no vector. The words are for the caller.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(super) enum EmbedError {
    #[error("embedding generation is not enabled in server configuration")]
    Disabled,
    #[error("{0}")]
    Unusable(Arc<str>),
    #[error("{0}")]
    Failed(#[from] llm::Error),
}

// === impl Embedder ===

impl Embedder {
    /// Nobody, for a reason.
    #[must_use]
    pub fn unusable(reason: impl Into<Arc<str>>) -> Self {
        Self::Unusable(reason.into())
    }

    /// What makes vectors.
    pub(super) fn ready(&self) -> Result<&llm::Embedder, EmbedError> {
        match self {
            Self::Disabled => Err(EmbedError::Disabled),
            Self::Unusable(reason) => Err(EmbedError::Unusable(reason.clone())),
            Self::Ready(embedder) => Ok(embedder),
        }
    }
}
