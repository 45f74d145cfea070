//! Where the vectors of texts come from.

use thiserror::Error;

/// Makes vectors of texts, if somebody does.
///
/// A provider becomes one more variant, and what a tool does with a vector then stands where it
/// has `refusal` now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Embedder {
    /// Nobody: the operator has not enabled it.
    Disabled,
    /// Nobody yet: the operator has enabled it, and this build has no provider.
    Unserved,
}

/// Why there is no vector. The words are for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(super) enum EmbedError {
    #[error("embedding generation is not enabled in server configuration")]
    Disabled,
    #[error("embedding is configured, but this build of the server does not serve it yet")]
    Unserved,
}

// === impl Embedder ===

impl Embedder {
    /// Why it makes no vector of any text.
    pub(super) fn refusal(self) -> EmbedError {
        match self {
            Self::Disabled => EmbedError::Disabled,
            Self::Unserved => EmbedError::Unserved,
        }
    }
}
