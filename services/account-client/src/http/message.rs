//! Complete requests and responses.

use std::{fmt, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

use crate::error::Kind;

/// A complete request.
#[derive(Clone)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
    pub(crate) purpose: Purpose,
    /// Time from the start of the first attempt to the end of the last; `None` for no limit.
    pub(crate) timeout: Option<Duration>,
    /// Maximum number of retries, if it only reads.
    pub(crate) retries: u32,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Purpose {
    /// A call to the API.
    Call,
    /// The exchange of a credential for a token: a dry run sends it, too, and its response is
    /// logged only if it can be masked.
    Exchange,
}

/// A request that a dry run stopped instead of sending it.
#[derive(Clone)]
pub struct Recorded {
    /// The method.
    pub method: Method,
    /// The complete URL.
    pub url: String,
    /// All headers, with the token.
    pub headers: HeaderMap,
    /// The body, if it has one.
    pub body: Option<Bytes>,
}

/// Outcome of a request.
#[derive(Debug)]
pub enum Sent {
    /// The server answered.
    Answer(Incoming),
    /// A dry run stopped the request.
    Stopped(Recorded),
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The complete body.
    pub body: Bytes,
}

/// Reason why there is no response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TransportError {
    /// The deadline passed; it was this long.
    Deadline(Duration),
    /// The connection failed or broke.
    Connection {
        /// The cause, with those below it.
        cause: String,
        /// Set if a retry may help.
        is_passing: bool,
    },
    /// The response is invalid; a retry would not help.
    Answer(String),
}

// === impl Outgoing ===

impl Outgoing {
    /// Returns whether it only reads; then it may be retried, and a dry run sends it.
    pub(super) fn only_reads(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS)
    }
}

// === impl Recorded ===

impl fmt::Debug for Recorded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recorded").finish_non_exhaustive()
    }
}

// === impl Incoming ===

impl Incoming {
    /// Returns the status with its phrase, such as `401 Unauthorized`.
    pub(crate) fn status_line(&self) -> String {
        match self.status.canonical_reason() {
            Some(reason) => format!("{} {reason}", self.status.as_u16()),
            None => self.status.as_u16().to_string(),
        }
    }
}

// === impl TransportError ===

impl TransportError {
    /// Creates a connection error for which a retry may help.
    pub(super) fn passing(cause: impl Into<String>) -> Self {
        Self::Connection {
            cause: cause.into(),
            is_passing: true,
        }
    }

    /// Creates a connection error for which a retry does not help.
    pub(super) fn lasting(cause: impl Into<String>) -> Self {
        Self::Connection {
            cause: cause.into(),
            is_passing: false,
        }
    }

    /// Returns the kind of the error of a request that failed for this reason.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Deadline(_) => Kind::Timeout,
            Self::Connection { .. } => Kind::Unreachable,
            Self::Answer(_) => Kind::Server,
        }
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline(after) => write!(formatter, "no response within {after:?}"),
            Self::Connection { cause, .. } | Self::Answer(cause) => formatter.write_str(cause),
        }
    }
}

impl std::error::Error for TransportError {}
