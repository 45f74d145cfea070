//! Errors of claims.

use thiserror::Error;

use crate::claims::{MAX_CLAIMS, MAX_VALUE};

/// Reason why claims are not valid. The message is for the administrator and has no value of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// The text is not a name, `=` and a value.
    #[error("a claim is written as name=value")]
    Syntax,
    /// The name cannot be one.
    #[error("invalid name of a claim: {}", .0.escape_debug())]
    Name(String),
    /// The value is empty.
    #[error("claim '{0}' has no value")]
    Empty(String),
    /// The value is too long.
    #[error("claim '{0}' has more than {MAX_VALUE} bytes")]
    TooLong(String),
    /// The value has another type.
    #[error("claim '{0}' is not a text, a number, true, false or a list of texts")]
    Kind(String),
    /// The name has two values.
    #[error("claim '{0}' is given twice")]
    Twice(String),
    /// There are too many claims.
    #[error("more than {MAX_CLAIMS} claims")]
    TooMany,
    /// The claims are not a map.
    #[error("expected a map of claims")]
    NotAMap,
}
