//! What is wrong with an answer that arrived.

use http::StatusCode;
use thiserror::Error;

use crate::{Class, Error, Http, sse};

/// What is wrong with an answer that arrived. `Display` may hold words of the provider, a key
/// among them.
#[derive(Debug, Error)]
pub(super) enum Fault {
    /// It is not what the provider documents.
    #[error("it makes no sense: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It holds no answer.
    #[error("no choices in response")]
    NoChoices,
    /// It ends before its end.
    #[error("the answer ended before it was complete")]
    Incomplete,
    /// There is no end to it.
    #[error("it is too long")]
    TooLong,
    /// The provider says what is wrong, with the status it has where it comes alone.
    #[error("{message}")]
    Reported {
        status: Option<StatusCode>,
        message: String,
    },
}

// === impl Fault ===

impl Fault {
    /// A fault the provider gives a number.
    pub(super) fn reported(status: Option<u16>, message: impl Into<String>) -> Self {
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        Self::Reported {
            status: status.filter(|status| !status.is_success()),
            message: message.into(),
        }
    }

    /// What the caller is told about it.
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

impl From<sse::TooLong> for Fault {
    fn from(_: sse::TooLong) -> Self {
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
