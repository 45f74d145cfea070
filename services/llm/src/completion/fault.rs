//! Faults in responses.

use http::StatusCode;
use thiserror::Error;

use ziggurat_text::events::TooLong;

use crate::{Class, Error, Http};

/// A fault in a response. `Display` may contain text of the provider, and with it a key.
#[derive(Debug, Error)]
pub(super) enum Fault {
    /// It does not have the documented format.
    #[error("it is invalid: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It contains no reply.
    #[error("no choices in response")]
    NoChoices,
    /// It ends too early.
    #[error("the answer is incomplete")]
    Incomplete,
    /// It is too long.
    #[error("it is too long")]
    TooLong,
    /// The provider reports an error, with the status of the same error outside of a stream.
    #[error("{message}")]
    Reported {
        status: Option<StatusCode>,
        message: String,
    },
}

// === impl Fault ===

impl Fault {
    /// Creates a fault for an error that the provider reports.
    pub(super) fn reported(status: Option<u16>, message: impl Into<String>) -> Self {
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        Self::Reported {
            status: status.filter(|status| !status.is_success()),
            message: message.into(),
        }
    }

    /// Converts it into the error for the caller.
    pub(super) fn of(self, http: &Http) -> Error {
        match self {
            Self::Malformed(error) => http.malformed(&error),
            Self::TooLong => http.malformed(&self),
            Self::NoChoices => Error::NoChoices,
            Self::Incomplete => Error::Incomplete(self.to_string()),
            Self::Reported { status, message } => {
                http.reported(status.map_or(Class::Provider, class), &message)
            }
        }
    }
}

impl From<TooLong> for Fault {
    fn from(_: TooLong) -> Self {
        Self::TooLong
    }
}

fn class(status: StatusCode) -> Class {
    match status.as_u16() {
        400 => Class::Invalid,
        401 | 403 => Class::Credentials,
        429 => Class::RateLimit,
        _ => Class::Provider,
    }
}
