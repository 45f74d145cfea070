//! The error of a request, and what the response said.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// The error of a request: one message for users, its kind, and details for programs.
///
/// Boxed, because every request returns a `Result` with it, and errors are rare. It contains no
/// secret: the message and the details are masked.
#[derive(Clone, Debug)]
pub struct Error(Box<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    kind: Kind,
    message: String,
    details: Details,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// There is no credential, or it was rejected.
    Auth,
    /// The credential is valid, but it does not allow the request.
    Forbidden,
    /// The API has no such record.
    NotFound,
    /// The record is in another state than the request needs.
    Conflict,
    /// No response arrived in time.
    Timeout,
    /// No server is reachable at the address.
    Unreachable,
    /// The server limits the rate of requests.
    RateLimited,
    /// The server failed, or its response is invalid.
    Server,
    /// Anything else.
    General,
}

/// The request that failed and its response, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// The status of the response.
    pub status: Option<u16>,
    /// The reason that the server sent.
    pub reason: Option<String>,
    /// The method and the masked URL of the request.
    pub request: Option<(String, String)>,
    /// The masked body of the response, as JSON or as text.
    pub server: Option<Value>,
}

// === impl Error ===

impl Error {
    /// Creates an error without details.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            kind,
            message: message.into(),
            details: Details::default(),
        }))
    }

    /// Adds the status of the response.
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.0.details.status = Some(status);
        self
    }

    /// Adds the reason that the server sent.
    pub(crate) fn with_reason(mut self, reason: Option<String>) -> Self {
        self.0.details.reason = reason;
        self
    }

    /// Adds the request that failed; the URL is already masked.
    pub(crate) fn with_request(mut self, method: &str, url: String) -> Self {
        self.0.details.request = Some((method.to_owned(), url));
        self
    }

    /// Adds the masked body of the response, as JSON or as text.
    pub(crate) fn with_server(mut self, body: Option<Value>) -> Self {
        self.0.details.server = body;
        self
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Returns the kind, the message and the details.
    #[must_use]
    pub fn into_parts(self) -> (Kind, String, Details) {
        let parts = *self.0;
        (parts.kind, parts.message, parts.details)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}
