//! Why something is not done.

use rand::rngs::SysError;
use thiserror::Error;
use ziggurat_state::StoreError;

/// Why something is not done. The words of all but the last three are for whoever asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Trouble {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// There is none, or none that this caller can see.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// It is there already.
    #[error("{0}")]
    Conflict(&'static str),
    /// A token could not be signed.
    #[error("a token could not be signed")]
    Unsigned,
    /// The system has no random bytes.
    #[error("no random bytes")]
    Random(#[from] SysError),
    /// The store did not do it.
    #[error("the store failed")]
    Store(#[from] StoreError),
}
