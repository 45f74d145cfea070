//! Where the vectors of texts come from.

use thiserror::Error;

use crate::llm;

/// Makes vectors of texts, if somebody does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Embedder {
    /// Nobody: the operator has not enabled it.
    Disabled,
    /// Nobody yet: the operator has enabled it, and this build has no provider.
    Unserved,
    /// A provider, or nobody but the server itself.
    Ready(llm::Embedder),
}

/// Why there is no vector. The words are for the caller.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(super) enum EmbedError {
    #[error("embedding generation is not enabled in server configuration")]
    Disabled,
    #[error("embedding is configured, but this build of the server does not serve it yet")]
    Unserved,
    #[error("{0}")]
    Failed(#[from] llm::Error),
}

// === impl Embedder ===

impl Embedder {
    /// What makes vectors.
    pub(super) fn ready(&self) -> Result<&llm::Embedder, EmbedError> {
        match self {
            Self::Disabled => Err(EmbedError::Disabled),
            Self::Unserved => Err(EmbedError::Unserved),
            Self::Ready(embedder) => Ok(embedder),
        }
    }
}
