//! Errors of operations on accounts.

use rand::rngs::SysError;
use thiserror::Error;
use ziggurat_state::StoreError;

/// An error of an operation. The messages of all but the last three are for the caller.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AccountError {
    /// The input is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The record does not exist, or not for this caller.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The record exists already.
    #[error("{0}")]
    Conflict(&'static str),
    /// A token could not be signed.
    #[error("a token could not be signed")]
    Unsigned,
    /// The operating system has no random bytes.
    #[error("no random bytes")]
    Random(#[from] SysError),
    /// The store returned an error.
    #[error("the store failed")]
    Store(#[from] StoreError),
}
